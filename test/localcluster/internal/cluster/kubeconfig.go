//go:build unix

package cluster

import (
	"os"

	"sigs.k8s.io/yaml"

	"github.com/mcptasks/mcptasks/test/localcluster/internal/pki"
)

// writeKubeconfig writes a kubeconfig that has all it needs in itself.
func writeKubeconfig(name, cluster, server string, authority string, client pki.Pair) error {
	ca, err := os.ReadFile(authority)
	if err != nil {
		return err
	}
	cert, err := os.ReadFile(client.Cert)
	if err != nil {
		return err
	}
	key, err := os.ReadFile(client.Key)
	if err != nil {
		return err
	}
	type object = map[string]any
	text, err := yaml.Marshal(object{
		"apiVersion": "v1",
		"kind":       "Config",
		"clusters": []object{{
			"name": cluster, "cluster": object{"server": server, "certificate-authority-data": ca},
		}},
		"users": []object{{
			"name": cluster, "user": object{"client-certificate-data": cert, "client-key-data": key},
		}},
		"contexts":        []object{{"name": cluster, "context": object{"cluster": cluster, "user": cluster}}},
		"current-context": cluster,
	})
	if err != nil {
		return err
	}
	draft := name + ".new"
	if err := os.WriteFile(draft, text, 0o600); err != nil {
		return err
	}
	return os.Rename(draft, name)
}
