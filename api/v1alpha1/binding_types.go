package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// Binding puts a value that is computed from a call's arguments into one field of the Job, in place of what jobTemplate says. A
// call whose value is not one that the binding allows is answered with an error result, and nothing is started.
//
// +kubebuilder:validation:XValidation:rule="has(self.max) != has(self.values)",message="a binding needs max, where the field holds a number, or values, where it holds a text"
type Binding struct {
	// field is the path of the field in jobTemplate, one of
	//
	//   - spec.template.spec.containers[name=NAME].resources.requests.RESOURCE and .limits.RESOURCE, where a resource like
	//     nvidia.com/gpu is written as limits["nvidia.com/gpu"]; also for initContainers: a quantity;
	//   - spec.template.spec.containers[name=NAME].image, also for initContainers: a text;
	//   - spec.template.spec.nodeSelector["KEY"]: a text;
	//   - spec.template.spec.activeDeadlineSeconds, which makes execution.deadline shorter for this call: a whole number of seconds;
	//   - spec.completions of a Job with completionMode Indexed, and spec.parallelism of any Job with several completions: a whole
	//     number.
	//
	// Nothing else can be bound, least of all what decides what the pod may do: service account, security context, volumes, host
	// namespaces, labels.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Field string `json:"field"`

	// value is a CEL expression over the variable arguments, the call's arguments, typed by inputSchema and without those that are
	// writeOnly. A property that the caller may leave out is read with arguments.?gpus.orValue(1). Its type must be int, double or
	// string for a quantity ("500m", "4Gi"), int for a whole number, string for a text. 1 to 2048 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Value string `json:"value"`

	// min is the least that a number may be. Default: 0 for a quantity, 1 for a whole number.
	// +optional
	Min *resource.Quantity `json:"min,omitempty"`

	// max is the most that a number may be. Required for numbers. For seconds at most execution.deadline,
	// for pods at most 1000.
	// +optional
	Max *resource.Quantity `json:"max,omitempty"`

	// values are all that a text may be. Required for texts. At most 64, of at most 512 characters.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	Values []string `json:"values,omitempty"`
}
