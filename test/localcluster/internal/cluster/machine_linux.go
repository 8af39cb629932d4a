package cluster

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/mcptasks/mcptasks/test/localcluster/internal/build"
	"github.com/mcptasks/mcptasks/test/localcluster/internal/console"
)

// tools are what a full cluster takes from the distribution.
type tools struct {
	// cniPlugins is the directory of the CNI plugins.
	cniPlugins string
}

// Where distributions put CNI plugins.
var cniDirs = []string{"/usr/lib/cni", "/usr/libexec/cni", "/opt/cni/bin"}

// requirement is something from the distribution.
type requirement struct {
	// what it is, and the Debian package that has it.
	what, pkg string
	present   func() bool
}

func command(name string) func() bool {
	return func() bool { _, err := exec.LookPath(name); return err == nil }
}

var requirements = []requirement{
	{"runc", "runc", command("runc")},
	{"nft", "nftables", command("nft")},
	{"ip", "iproute2", command("ip")},
	{"mount", "mount", command("mount")},
	{"CNI plugins", "containernetworking-plugins", func() bool { return findCNI() != "" }},
}

func findCNI() string {
	for _, dir := range cniDirs {
		if _, err := os.Stat(filepath.Join(dir, "ptp")); err == nil {
			return dir
		}
	}
	return ""
}

// prepareMachine checks that this machine can run a full cluster and installs what is missing.
func prepareMachine(ctx context.Context, out *console.Printer) (tools, error) {
	if os.Geteuid() != 0 {
		return tools{}, errors.New("a full cluster needs root: use sudo, or --control-plane for one without nodes")
	}
	// Debian's sbin directories may not be on the PATH of a root shell opened with su.
	if err := os.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin"); err != nil {
		return tools{}, err
	}
	missing, packages := missingRequirements()
	if len(missing) > 0 {
		if err := install(ctx, packages, out); err != nil {
			return tools{}, fmt.Errorf("missing on this machine: %s: %w", strings.Join(missing, ", "), err)
		}
		if missing, _ = missingRequirements(); len(missing) > 0 {
			return tools{}, fmt.Errorf("still missing after their packages were installed: %s", strings.Join(missing, ", "))
		}
	}
	return tools{cniPlugins: findCNI()}, nil
}

func missingRequirements() (what, packages []string) {
	for _, r := range requirements {
		if !r.present() {
			what, packages = append(what, r.what), append(packages, r.pkg)
		}
	}
	return what, packages
}

// install installs Debian packages.
func install(ctx context.Context, packages []string, out *console.Printer) error {
	list := strings.Join(packages, " ")
	if !command("apt-get")() {
		return fmt.Errorf("install them (on Debian the packages are %s) and try again", list)
	}
	step := out.Step("install "+list, nil)
	var log []byte
	for _, args := range [][]string{{"update"}, append([]string{"install", "--yes", "--no-install-recommends"}, packages...)} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		output, err := cmd.CombinedOutput()
		log = append(log, output...)
		// A package list that can't be updated may still do.
		if err != nil && args[0] == "install" {
			step.Fail()
			return fmt.Errorf("apt-get could not install %s: %w\n%s", list, err, build.Tail(log, tailLines))
		}
	}
	step.Done("")
	return nil
}

// usedNetworks returns the address ranges that this machine uses or has routes to.
func usedNetworks() ([]netip.Prefix, error) {
	var used []netip.Prefix
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	for _, a := range addresses {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			used = append(used, p.Masked())
		}
	}
	routes, err := os.Open("/proc/net/route")
	if err != nil {
		return nil, err
	}
	defer func() { _ = routes.Close() }()
	lines := bufio.NewScanner(routes)
	for lines.Scan() {
		// Interface, destination, gateway, flags, references, use, metric, mask, …
		f := strings.Fields(lines.Text())
		if len(f) < 8 {
			continue
		}
		destination, mask := routeNumber(f[1]), routeNumber(f[7])
		if mask == 0 {
			continue
		}
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], destination)
		used = append(used, netip.PrefixFrom(netip.AddrFrom4(b), bits.OnesCount32(mask)))
	}
	return used, lines.Err()
}

// routeNumber reads an address as /proc/net/route has it, in the machine's byte order; 0 for what isn't one.
func routeNumber(text string) uint32 {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != 4 {
		return 0
	}
	// The text is the number, most significant digits first; the number is the address as it lies in memory.
	binary.NativeEndian.PutUint32(b, binary.BigEndian.Uint32(b))
	return binary.BigEndian.Uint32(b)
}

// run runs a command and has its output in the error.
func run(ctx context.Context, name string, args ...string) error {
	output, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}

// connect links the machine with the network of the cluster whose first process is given.
func (c *Cluster) connect(ctx context.Context, pid int) error {
	n := c.spec.Network
	dev := c.hostInterface()
	for _, args := range [][]string{
		{"link", "add", dev, "type", "veth", "peer", "name", nodeInterface, "netns", fmt.Sprint(pid)},
		{"address", "add", netip.PrefixFrom(n.Host, n.link().Bits()).String(), "dev", dev},
		{"link", "set", dev, "up"},
		{"route", "add", n.Pods.String(), "via", n.Node.String(), "dev", dev},
		{"route", "add", n.Services.String(), "via", n.Node.String(), "dev", dev},
	} {
		if err := run(ctx, "ip", args...); err != nil {
			return fmt.Errorf("connect the cluster's network: %w", err)
		}
	}
	return nil
}

// clearMachine removes what isn't a process or a file: the link, which the kernel removes by itself but may take its time for,
// and the control groups.
func (l Layout) clearMachine() error {
	if _, err := net.InterfaceByName(l.hostInterface()); err == nil {
		if err := run(context.Background(), "ip", "link", "delete", l.hostInterface()); err != nil {
			// It may have gone in between.
			if _, still := net.InterfaceByName(l.hostInterface()); still == nil {
				return err
			}
		}
	}
	return removeControlGroups(l.controlGroup())
}
