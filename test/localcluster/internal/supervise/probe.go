//go:build unix

package supervise

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

const probeTimeout = 3 * time.Second

// check is a probe made ready for use: nil says that the component is ready.
type check func(ctx context.Context) error

func (p Probe) check() (check, error) {
	if p.Socket != "" {
		return func(ctx context.Context) error {
			conn, err := (&net.Dialer{Timeout: probeTimeout}).DialContext(ctx, "unix", p.Socket)
			if err != nil {
				return err
			}
			return conn.Close()
		}, nil
	}
	config := &tls.Config{InsecureSkipVerify: p.CA == ""}
	if p.CA != "" {
		authority, err := os.ReadFile(p.CA)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(authority)
	}
	client := &http.Client{
		Timeout:   probeTimeout,
		Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true},
	}
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL, nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode == http.StatusOK {
			return nil
		}
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 500))
		return fmt.Errorf("%s: %s", resp.Status, strings.TrimSpace(string(body)))
	}, nil
}
