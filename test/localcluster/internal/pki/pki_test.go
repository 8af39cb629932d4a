package pki

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func newAuthority(t *testing.T, dir string) *Authority {
	t.Helper()
	a, err := EnsureAuthority(InDir(dir, "ca"), "test")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func load(t *testing.T, files Pair) *x509.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	return pair.Leaf
}

func TestAuthorityIsKept(t *testing.T) {
	dir := t.TempDir()
	newAuthority(t, dir)
	first := load(t, InDir(dir, "ca"))
	newAuthority(t, dir)
	if !first.Equal(load(t, InDir(dir, "ca"))) {
		t.Error("a second call made another authority")
	}
}

func TestBrokenAuthorityIsNotReplaced(t *testing.T) {
	dir := t.TempDir()
	newAuthority(t, dir)
	if err := os.WriteFile(InDir(dir, "ca").Cert, []byte("nonsense"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := EnsureAuthority(InDir(dir, "ca"), "test"); err == nil {
		t.Error("clients that trust the old authority would be cut off without a word")
	}
}

func TestCertificates(t *testing.T) {
	dir := t.TempDir()
	a := newAuthority(t, dir)
	roots := x509.NewCertPool()
	roots.AddCert(load(t, InDir(dir, "ca")))
	client, server := InDir(dir, "client"), InDir(dir, "server")
	if err := a.Client(client, Subject{Name: "somebody", Groups: []string{"some", "group"}}); err != nil {
		t.Fatal(err)
	}
	if err := a.Server(server, Subject{Name: "server"}, "localhost", "10.0.0.1"); err != nil {
		t.Fatal(err)
	}

	asClient := x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	cert := load(t, client)
	if _, err := cert.Verify(asClient); err != nil {
		t.Errorf("a client's certificate: %v", err)
	}
	if s := cert.Subject; s.CommonName != "somebody" || !slices.Equal(s.Organization, []string{"some", "group"}) {
		t.Errorf("it is for %s", s)
	}
	for host, good := range map[string]bool{"localhost": true, "10.0.0.1": true, "10.0.0.2": false, "example.org": false} {
		_, err := load(t, server).Verify(x509.VerifyOptions{Roots: roots, DNSName: host})
		if good != (err == nil) {
			t.Errorf("a server's certificate used for %s: %v", host, err)
		}
	}
	if _, err := cert.Verify(x509.VerifyOptions{Roots: roots}); err == nil {
		t.Error("a client's certificate is good for a server")
	}
}

func TestKeysAreNotReadByOthers(t *testing.T) {
	dir := t.TempDir()
	newAuthority(t, dir)
	private, public := filepath.Join(dir, "sa.key"), filepath.Join(dir, "sa.pub")
	if err := EnsureSigningKey(private, public); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{InDir(dir, "ca").Key, private} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %s", filepath.Base(name), info.Mode())
		}
	}
}

func TestSigningKeyIsKept(t *testing.T) {
	dir := t.TempDir()
	private, public := filepath.Join(dir, "sa.key"), filepath.Join(dir, "sa.pub")
	var seen [2]string
	for i := range seen {
		if err := EnsureSigningKey(private, public); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(private)
		if err != nil {
			t.Fatal(err)
		}
		seen[i] = string(text)
	}
	if seen[0] != seen[1] {
		t.Error("tokens signed before a restart would be worth nothing after it")
	}
}
