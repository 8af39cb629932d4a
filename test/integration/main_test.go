package integration

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

const (
	kubeconfigVariable = "MCPTASKS_INTEGRATION_KUBECONFIG"
	// node is the node on which the tests play the kubelet.
	node = "integration"
)

var (
	// config reaches the control plane as its administrator.
	config *rest.Config
	scheme = runtime.NewScheme()
	// admin is a client without a cache.
	admin client.WithWatch
)

func TestMain(m *testing.M) {
	kubeconfig := os.Getenv(kubeconfigVariable)
	if kubeconfig == "" {
		fmt.Printf("SKIP integration tests: %s is not set; run make test-integration\n", kubeconfigVariable)
		return
	}
	if err := prepare(kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, "integration tests:", err)
		os.Exit(1)
	}
	// The tests mostly wait, for the cluster's controllers and for clocks.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// prepare connects to the control plane and installs the CRDs as they are in config/crd.
func prepare(kubeconfig string) (err error) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	if config, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
		return err
	}
	config.QPS = -1
	err = errors.Join(
		clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))
	if err != nil {
		return err
	}
	if admin, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	files, err := filepath.Glob("../../config/crd/*.yaml")
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return errors.New("no CRDs in config/crd; run make generate")
	}
	for _, file := range files {
		if err := installCRD(ctx, file); err != nil {
			return fmt.Errorf("install %s: %w", file, err)
		}
	}
	if err := grantRights(ctx); err != nil {
		return err
	}
	err = admin.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}})
	return client.IgnoreAlreadyExists(err)
}

// installCRD creates or replaces a CRD and waits until the API server serves it.
func installCRD(ctx context.Context, file string) error {
	doc, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(doc, crd); err != nil {
		return err
	}
	old := &apiextensionsv1.CustomResourceDefinition{}
	switch err := admin.Get(ctx, client.ObjectKeyFromObject(crd), old); {
	case client.IgnoreNotFound(err) != nil:
		return err
	case err != nil:
		if err := admin.Create(ctx, crd); err != nil {
			return err
		}
	default:
		crd.ResourceVersion = old.ResourceVersion
		if err := admin.Update(ctx, crd); err != nil {
			return err
		}
	}
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(crd), old); err != nil {
			return false, err
		}
		for _, c := range old.Status.Conditions {
			if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
}
