package plugin

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/controller"
	"github.com/mcptasks/mcptasks/test/integration/setup"
	"github.com/mcptasks/mcptasks/test/kube"
)

// patience is how long the controllers, the cluster's and ours, may take for one object.
const patience = time.Minute

// manifests are Jobs as people have them: those of the cases C01 to C20, and others.
const manifests = "../../../internal/draft/testdata/*.yaml"

// TestTool_DraftsAreAccepted: kubectl apply --dry-run=server takes every draft as it is printed, without a warning; and the
// controller says of it what the plugin has said.
func TestTool_DraftsAreAccepted(t *testing.T) {
	drafts := newNamespace(t, "")
	startController(t, drafts)
	for _, file := range files(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			document, notes := fromJob(t, file, drafts)
			dry, err := kubectl(t, document, "apply", "--dry-run=server", "-f", "-")
			if err != nil || strings.Contains(dry, "Warning") {
				t.Fatalf("kubectl apply --dry-run=server: %v\n%s", err, dry)
			}
			tool := apply(t, document)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			var ready *metav1.Condition
			err = cluster.Wait(ctx, tool, client.ObjectKeyFromObject(tool), func() bool {
				ready = meta.FindStatusCondition(tool.Status.Conditions, v1alpha1.ConditionReady)
				return ready != nil && ready.ObservedGeneration == tool.Generation
			})
			if err != nil {
				t.Fatal(err)
			}
			said := strings.Contains(notes, "will not be Ready as it is")
			switch {
			case ready.Status == metav1.ConditionTrue && said:
				t.Errorf("the tool is Ready; the plugin said:\n%s", notes)
			case ready.Status != metav1.ConditionTrue && !strings.Contains(notes, ready.Message):
				t.Errorf("the tool is not Ready (%s: %s); the plugin said:\n%s", ready.Reason, ready.Message, notes)
			}
		})
	}
}

// TestTool_DraftsUnderPodSecurity creates the drafts' pods in namespaces of each level: they are refused exactly where the plugin
// has said so.
func TestTool_DraftsUnderPodSecurity(t *testing.T) {
	levels := []string{"privileged", "baseline", "restricted"}
	namespaces := map[string]string{}
	for _, level := range levels {
		namespaces[level] = newNamespace(t, level)
		for _, account := range []string{"crd-upgrader", "reporter"} {
			must(t, cluster.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
				Namespace: namespaces[level], Name: account,
			}}))
		}
		waitForDefaultAccount(t, namespaces[level])
	}
	for _, file := range files(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			document, notes := fromJob(t, file, namespaces["privileged"])
			template := &apply(t, document).Spec.JobTemplate.Spec.Template
			strictest := "restricted"
			for _, level := range levels {
				if strings.Contains(notes, "a stricter Pod Security level than "+level+" refuse") {
					strictest = level
				}
			}
			refused := false
			for _, level := range levels {
				pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
				pod.Namespace, pod.GenerateName = namespaces[level], "draft-"
				err := cluster.Create(t.Context(), pod, client.DryRunAll)
				if err != nil && !apierrors.IsForbidden(err) {
					t.Fatal(err)
				}
				if (err != nil) != refused {
					t.Errorf("in a namespace with the level %s: %v; the plugin said that %s is the strictest:\n%s", level, err, strictest, notes)
				}
				refused = refused || level == strictest
			}
		})
	}
}

// TestFromJobInput: from-job reads standard input too, and says what it cannot read.
func TestFromJobInput(t *testing.T) {
	expect(t, false, "no such file", "tool", "from-job", "none.yaml")
	expect(t, false, "accepts 1 arg", "tool", "from-job")
	out, err := pluginWith(t, "apiVersion: batch/v1\nkind: Job\nmetadata: {name: hello}\nspec: {template: {spec: {containers: "+
		"[{name: c, image: i}]}}}", "tool", "from-job", "-", "-n", namespace)
	if err != nil || !strings.Contains(out, "namespace: "+namespace) {
		t.Errorf("from-job -: %v\n%s", err, out)
	}
	out, err = pluginWith(t, "kind: {{ .X }}", "tool", "from-job", "-")
	if err == nil || !strings.Contains(out, "render it first") {
		t.Errorf("from-job of a template: %v\n%s", err, out)
	}
}

func files(t *testing.T) []string {
	t.Helper()
	if cluster == nil {
		t.Skip(setup.Skip)
	}
	all, err := filepath.Glob(manifests)
	if err != nil || len(all) == 0 {
		t.Fatal("there are no manifests", err)
	}
	return all
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fromJob gives the draft of a file, and what is said about it.
func fromJob(t *testing.T, file, namespace string) (document, notes string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Getenv("MCPTASKS_KUBECTL"), "mcptask", "tool", "from-job", file, "-n", namespace)
	cmd.Env = append(os.Environ(), "PATH="+path)
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("kubectl mcptask tool from-job %s: %v\n%s", file, err, errOut.String())
	}
	return out.String(), errOut.String()
}

// kubectl runs kubectl with a standard input and gives both outputs together.
func kubectl(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Getenv("MCPTASKS_KUBECTL"), args...)
	cmd.Env = append(os.Environ(), "PATH="+path, "KUBECONFIG="+os.Getenv(setup.Kubeconfig))
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func pluginWith(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	return kubectl(t, stdin, append([]string{"mcptask"}, args...)...)
}

// apply creates the tool of a document as people do.
func apply(t *testing.T, document string) *v1alpha1.MCPTool {
	t.Helper()
	out, err := kubectl(t, document, "apply", "--server-side", "-o", "name", "-f", "-")
	if err != nil {
		t.Fatalf("kubectl apply: %v\n%s", err, out)
	}
	file := filepath.Join(t.TempDir(), "tool.yaml")
	must(t, os.WriteFile(file, []byte(document), 0o600))
	objects, err := kube.ReadManifests(file)
	must(t, err)
	tool := &v1alpha1.MCPTool{}
	must(t, cluster.Get(t.Context(), kube.Key(objects[0]), tool))
	return tool
}

// newNamespace makes a namespace with a Pod Security level that goes away with the test.
func newNamespace(t *testing.T, level string) string {
	t.Helper()
	if cluster == nil {
		t.Skip(setup.Skip)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "drafts-"}}
	if level != "" {
		ns.Labels = map[string]string{"pod-security.kubernetes.io/enforce": level}
	}
	must(t, cluster.Create(t.Context(), ns))
	t.Cleanup(func() {
		if err := cluster.Delete(context.Background(), ns); err != nil { // t's own context has ended
			t.Error(err)
		}
	})
	return ns.Name
}

// waitForDefaultAccount waits for what no pod can be created without.
func waitForDefaultAccount(t *testing.T, namespace string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	account := &corev1.ServiceAccount{}
	must(t, cluster.Wait(ctx, account, client.ObjectKey{Namespace: namespace, Name: "default"}, func() bool { return true }))
}

// startController runs the controllers for one namespace, which is the catalog too, until the test ends.
func startController(t *testing.T, namespace string) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv(setup.Kubeconfig))
	must(t, err)
	objects := controller.CacheOptions()
	objects.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: cluster.Scheme(), Cache: objects, Metrics: metricsserver.Options{BindAddress: "0"},
	})
	must(t, err)
	must(t, controller.Setup(t.Context(), mgr, controller.Options{CatalogNamespace: namespace}))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the controllers ended: %v", err)
		}
	})
}
