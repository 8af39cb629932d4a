// Package pki makes the keys and certificates of a cluster.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	// Certificates are issued anew each time a cluster is started.
	certificateLife = 365 * 24 * time.Hour
	// Clocks of machines and containers differ a little.
	backdate = 5 * time.Minute
)

// Pair names the files of a certificate and its key.
type Pair struct{ Cert, Key string }

// InDir returns the pair NAME.crt, NAME.key in a directory.
func InDir(dir, name string) Pair {
	return Pair{Cert: filepath.Join(dir, name+".crt"), Key: filepath.Join(dir, name+".key")}
}

// Authority is a certificate authority.
type Authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// EnsureAuthority reads an authority from files, or makes one of the given common name and writes it there.
func EnsureAuthority(files Pair, name string) (*Authority, error) {
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err == nil {
		key, ok := pair.PrivateKey.(crypto.Signer)
		if !ok {
			return nil, fmt.Errorf("read authority %q: its key cannot sign", name)
		}
		return &Authority{cert: pair.Leaf, key: key}, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read authority %q: %w", name, err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	a := &Authority{cert: template, key: key}
	if err := a.sign(template, key, files, authorityLife); err != nil {
		return nil, fmt.Errorf("make authority %q: %w", name, err)
	}
	return EnsureAuthority(files, name)
}

// Subject is who a certificate is for. In Kubernetes a client's Name is its user and its Groups are its groups.
type Subject struct {
	Name   string
	Groups []string
}

// Client issues a client certificate.
func (a *Authority) Client(files Pair, s Subject) error {
	return a.issue(files, s, nil, x509.ExtKeyUsageClientAuth)
}

// Server issues a certificate for a server that is reached by the given names and addresses, and that may itself be a client
// of its peers.
func (a *Authority) Server(files Pair, s Subject, hosts ...string) error {
	return a.issue(files, s, hosts, x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth)
}

func (a *Authority) issue(files Pair, s Subject, hosts []string, usage ...x509.ExtKeyUsage) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: s.Name, Organization: s.Groups},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: usage,
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	if err := a.sign(template, key, files, certificateLife); err != nil {
		return fmt.Errorf("issue a certificate for %s: %w", s.Name, err)
	}
	return nil
}

func (a *Authority) sign(template *x509.Certificate, key crypto.Signer, files Pair, life time.Duration) error {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return err
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-backdate)
	template.NotAfter = time.Now().Add(life)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return err
	}
	if err := writeKey(files.Key, key); err != nil {
		return err
	}
	return writePEM(files.Cert, "CERTIFICATE", der, 0o644)
}

// EnsureSigningKey makes the RSA key pair that signs service account tokens, unless its files exist. RSA, because not every
// verifier of such tokens knows anything else.
func EnsureSigningKey(private, public string) error {
	if _, err := os.Stat(public); err == nil {
		return nil
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	if err := writeKey(private, key); err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	return writePEM(public, "PUBLIC KEY", der, 0o644)
}

func writeKey(name string, key crypto.Signer) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(name, "PRIVATE KEY", der, 0o600)
}

// writePEM writes a file so that a crash leaves the old one or the new one.
func writePEM(name, kind string, der []byte, mode os.FileMode) error {
	draft := name + ".new"
	if err := os.WriteFile(draft, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode); err != nil {
		return err
	}
	return os.Rename(draft, name)
}
