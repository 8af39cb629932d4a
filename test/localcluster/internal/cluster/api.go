//go:build unix

package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"
)

// api asks the cluster's API server, as its administrator, the few things that this program wants to know.
type api struct {
	server string
	client *http.Client
}

func (c *Cluster) apiClient() (*api, error) {
	cert, err := tls.LoadX509KeyPair(c.pair(admin).Cert, c.pair(admin).Key)
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(c.pair(clusterAuthority).Cert)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	return &api{
		server: c.spec.Network.APIServer(),
		client: &http.Client{
			Timeout:   5 * time.Second,
			Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{cert}}},
		},
	}, nil
}

// get reads a path into a value, or ignores the answer's body if that is nil.
func (a *api) get(ctx context.Context, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.server+path, nil)
	if err != nil {
		return err
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", path, resp.Status)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(body, into)
}

// nodeReady returns nil when the cluster's node is ready, or why it isn't.
func (a *api) nodeReady(ctx context.Context, name string) error {
	var node struct {
		Status struct {
			Conditions []struct{ Type, Status, Message string }
		}
	}
	if err := a.get(ctx, "/api/v1/nodes/"+name, &node); err != nil {
		return err
	}
	for _, c := range node.Status.Conditions {
		if c.Type == "Ready" {
			if c.Status == "True" {
				return nil
			}
			return fmt.Errorf("the node isn't ready: %s", c.Message)
		}
	}
	return fmt.Errorf("the node hasn't reported yet")
}

// podProblems returns the latest warnings about the pods of a namespace, nil if there are none.
func (a *api) podProblems(ctx context.Context, namespace string) error {
	var events struct {
		Items []struct{ Reason, Message string }
	}
	query := url.Values{"fieldSelector": {"type=Warning,involvedObject.kind=Pod"}}
	if err := a.get(ctx, "/api/v1/namespaces/"+namespace+"/events?"+query.Encode(), &events); err != nil {
		return err
	}
	if len(events.Items) == 0 {
		return nil
	}
	last := events.Items[len(events.Items)-1]
	return fmt.Errorf("the last warning about a pod there: %s: %s", last.Reason, last.Message)
}
