// Package integration tests the controllers on a real API server with Kubernetes' own Job, TTL and garbage-collection
// controllers. What it does not have is a node: the tests play the kubelet, by writing pods' status, and hand out their logs.
//
// "make test-integration" starts such a control plane and names its kubeconfig in MCPTASKS_INTEGRATION_KUBECONFIG.
package integration
