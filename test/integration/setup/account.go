//go:build unix

package setup

import (
	"context"
	"fmt"
	"os"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/mcptasks/mcptasks/test/kube"
)

// WriteKubeconfig writes a kubeconfig with which a program acts as a service account.
func WriteKubeconfig(ctx context.Context, cluster *kube.Cluster, namespace, account, file string) error {
	config, err := clientcmd.LoadFromFile(os.Getenv(Kubeconfig))
	if err != nil {
		return err
	}
	request := &authenticationv1.TokenRequest{}
	of := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}
	if err := cluster.SubResource("token").Create(ctx, of, request); err != nil {
		return fmt.Errorf("issue a token for the program: %w", err)
	}
	user := config.Contexts[config.CurrentContext].AuthInfo
	config.AuthInfos = map[string]*clientcmdapi.AuthInfo{user: {Token: request.Status.Token}}
	if err := clientcmdapi.FlattenConfig(config); err != nil {
		return err
	}
	return clientcmd.WriteToFile(*config, file)
}
