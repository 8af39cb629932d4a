//go:build unix

package cluster

import (
	"fmt"

	"github.com/mcptasks/mcptasks/test/localcluster/internal/pki"
)

// Names of files in the cluster's directory pki.
const (
	clusterAuthority = "ca"
	etcdAuthority    = "etcd-ca"
	etcdServer       = "etcd"
	etcdClient       = "etcd-client"
	apiServer        = "apiserver"
	apiServerKubelet = "apiserver-kubelet-client"
	proxyAuthority   = "front-proxy-ca"
	proxyClient      = "front-proxy-client"
	kubeletServer    = "kubelet-server"
	admin            = "admin"
)

// adminGroup may do everything in a cluster, whatever its RBAC rules say.
const adminGroup = "system:masters"

// Clients with a kubeconfig of their own: the components' names and users are Kubernetes' own.
func (c *Cluster) clients() map[string]pki.Subject {
	clients := map[string]pki.Subject{
		admin:             {Name: "localcluster-admin", Groups: []string{adminGroup}},
		controllerManager: {Name: "system:kube-controller-manager"},
	}
	if c.spec.Mode == Full {
		clients[scheduler] = pki.Subject{Name: "system:kube-scheduler"}
		clients[kubelet] = pki.Subject{Name: "system:node:" + c.Name, Groups: []string{"system:nodes"}}
		clients[proxy] = pki.Subject{Name: "system:kube-proxy"}
	}
	return clients
}

func (l Layout) signingKey() (private, public string) {
	return l.path("pki", "service-accounts.key"), l.path("pki", "service-accounts.pub")
}

// writeCredentials issues all certificates and writes the kubeconfigs. Authorities and the key that signs service account
// tokens are kept from an earlier start, so what a client has stays good.
func (c *Cluster) writeCredentials() error {
	if err := pki.EnsureSigningKey(c.signingKey()); err != nil {
		return fmt.Errorf("make the key for service account tokens: %w", err)
	}
	// etcd trusts an authority of its own: whoever is let in may change anything.
	etcd, err := pki.EnsureAuthority(c.pair(etcdAuthority), c.Name+" etcd")
	if err != nil {
		return err
	}
	if err := etcd.Server(c.pair(etcdServer), pki.Subject{Name: "etcd"}, "127.0.0.1", "localhost"); err != nil {
		return err
	}
	if err := etcd.Client(c.pair(etcdClient), pki.Subject{Name: "kube-apiserver"}); err != nil {
		return err
	}
	ca, err := pki.EnsureAuthority(c.pair(clusterAuthority), c.Name)
	if err != nil {
		return err
	}
	n := c.spec.Network
	if err := ca.Server(c.pair(apiServer), pki.Subject{Name: "kube-apiserver"}, "kubernetes", "kubernetes.default",
		"kubernetes.default.svc", "kubernetes.default.svc."+clusterDomain, "localhost", "127.0.0.1",
		n.Node.String(), n.APIService().String()); err != nil {
		return err
	}
	// The API server shows this one to servers of aggregated APIs when it speaks for a user.
	front, err := pki.EnsureAuthority(c.pair(proxyAuthority), c.Name+" front proxy")
	if err != nil {
		return err
	}
	if err := front.Client(c.pair(proxyClient), pki.Subject{Name: proxyClient}); err != nil {
		return err
	}
	if c.spec.Mode == Full {
		kubeletUser := pki.Subject{Name: "kube-apiserver", Groups: []string{adminGroup}}
		if err := ca.Client(c.pair(apiServerKubelet), kubeletUser); err != nil {
			return err
		}
		if err := ca.Server(c.pair(kubeletServer), pki.Subject{Name: c.Name}, c.Name, n.Node.String()); err != nil {
			return err
		}
	}
	for client, subject := range c.clients() {
		if err := ca.Client(c.pair(client), subject); err != nil {
			return err
		}
		if err := c.writeKubeconfigOf(client); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) writeKubeconfigOf(client string) error {
	file := c.kubeconfigOf(client)
	if client == admin {
		file = c.Kubeconfig()
	}
	return writeKubeconfig(file, "localcluster-"+c.Name, c.spec.Network.APIServer(), c.pair(clusterAuthority).Cert, c.pair(client))
}
