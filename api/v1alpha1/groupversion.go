// Package v1alpha1 is the mcptasks.dev/v1alpha1 API: MCPTool says how a Kubernetes Job is exposed to AI agents as an MCP
// tool, MCPTask is the durable record of one call of such a tool.
//
// The package holds types, constants and nothing else: no defaults in code (the CRDs have them), no behaviour.
//
// +kubebuilder:object:generate=true
// +groupName=mcptasks.dev
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of all kinds in this package.
const Group = "mcptasks.dev"

// GroupVersion is the group and version of all kinds in this package.
var GroupVersion = schema.GroupVersion{Group: Group, Version: "v1alpha1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &MCPTool{}, &MCPToolList{}, &MCPTask{}, &MCPTaskList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
