package v1alpha1

import (
	batchv1 "k8s.io/api/batch/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MCPTool exposes a Kubernetes Job to AI agents as an MCP tool. An MCPTool in a tenant's namespace is that tenant's own; one
// in the catalog namespace is offered to every tenant that its tenantSelector picks.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=mcptool,categories=mcp
// +kubebuilder:printcolumn:name="Tool",type=string,JSONPath=`.status.name`,description="Name in the agents' tool list"
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.execution.mode`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must have at most 63 characters, since tasks and Jobs carry it as a label"
type MCPTool struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the object's metadata, as in every Kubernetes object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what agents see of the tool and which Job a call becomes.
	// +required
	Spec MCPToolSpec `json:"spec"`
	// status says whether agents can use the tool. Only the controller writes it.
	// +optional
	Status MCPToolStatus `json:"status,omitempty"`
}

// MCPToolList is a list of MCPTools.
//
// +kubebuilder:object:root=true
type MCPToolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MCPTool `json:"items"`
}

// MCPToolSpec says what agents see of the tool and which Job a call becomes.
type MCPToolSpec struct {
	// name is the tool's name in the agents' tool list. Default: metadata.name. 1 to 64 characters of A-Z, a-z, 0-9, "_", "-",
	// "." and "/".
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_./-]+$`
	Name string `json:"name,omitempty"`

	// title is a name for people, shown by clients in place of name. At most 256 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Title string `json:"title,omitempty"`

	// description tells the model what the tool does and when to use it. 1 to 4096 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Description string `json:"description"`

	// annotations are MCP's behaviour hints, passed to clients as they are. Besides, idempotentHint lets a pod that was evicted,
	// preempted or lost with its node be replaced by another one, however often, without that counting as one of
	// execution.retries; a podFailurePolicy of the template's own replaces this.
	// +optional
	Annotations *ToolAnnotations `json:"annotations,omitempty"`

	// tenantSelector picks, by namespace labels, the tenants that a tool in the catalog namespace is offered to. Absent: every
	// tenant. It has no meaning in a tenant's own namespace and is refused there.
	// +optional
	TenantSelector *metav1.LabelSelector `json:"tenantSelector,omitempty"`

	// inputSchema is the JSON Schema (2020-12) of the call's arguments. Its root must have type "object". References to other
	// documents are refused. Default: an object without properties.
	//
	// Values that it marks "writeOnly": true, wherever they are, go to a Secret that is deleted when the task ends, and appear in no
	// MCPTask, Job or event. Containers get them as all others; expressions cannot read them.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	InputSchema *apiextensionsv1.JSON `json:"inputSchema,omitempty"`

	// outputSchema is the JSON Schema (2020-12) of the tool's structured result. When it is set, what the Job returns must be JSON
	// that fits it; the value reaches the caller as structuredContent and as text. Where the Job has several pods, that value is
	// {"results": [...]}, and the schema must declare the property results with type array: for an Indexed Job it has what each
	// index printed, by index, with null for an index that the successPolicy did without; otherwise what each pod printed that
	// succeeded, in the order in which they ended.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	OutputSchema *apiextensionsv1.JSON `json:"outputSchema,omitempty"`

	// execution says how calls of the tool are run and for how long they are kept.
	// +optional
	// +kubebuilder:default={}
	Execution Execution `json:"execution,omitempty"`

	// questions are asked before a call becomes a Job, of the person behind the agent. Answers reach the Job's containers as the
	// file /mcp/answers.json and as environment variables MCP_ANSWER_<KEY>_<PROPERTY>, one for each scalar property of a question's
	// schema. At most 16.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MaxItems=16
	Questions []ToolQuestion `json:"questions,omitempty"`

	// result says where the Job's result is read from.
	// +optional
	// +kubebuilder:default={}
	Result ResultSource `json:"result,omitempty"`

	// bindings put values that are computed from a call's arguments into fields of jobTemplate. At most 32.
	// +optional
	// +listType=map
	// +listMapKey=field
	// +kubebuilder:validation:MaxItems=32
	Bindings []Binding `json:"bindings,omitempty"`

	// jobTemplate is the Job that a call becomes. Arguments reach its containers as the file /mcp/arguments.json and as
	// environment variables MCP_ARG_<NAME>, one for each scalar property of inputSchema. backoffLimit, activeDeadlineSeconds,
	// ttlSecondsAfterFinished, podReplacementPolicy and the pod's activeDeadlineSeconds are set by mcptasks from execution.
	// Jobs may have several pods: Indexed, with completions, or as a work queue without them; at most 1000 completions, and 1000
	// pods at a time. podFailurePolicy, successPolicy, backoffLimitPerIndex and maxFailedIndexes hold as they are written.
	// +required
	JobTemplate batchv1.JobTemplateSpec `json:"jobTemplate"`
}

// ToolAnnotations are the behaviour hints of an MCP tool (MCP 2026-07-28, server/tools, "ToolAnnotations"). They are hints for
// clients, not limits that anybody enforces.
type ToolAnnotations struct {
	// readOnlyHint says that the tool does not change its environment. MCP's default: false.
	// +optional
	ReadOnlyHint *bool `json:"readOnlyHint,omitempty"`
	// destructiveHint says that the tool may destroy something. MCP's default: true.
	// +optional
	DestructiveHint *bool `json:"destructiveHint,omitempty"`
	// idempotentHint says that calling again with the same arguments changes nothing more. MCP's default: false.
	// +optional
	IdempotentHint *bool `json:"idempotentHint,omitempty"`
	// openWorldHint says that the tool talks to things outside of its own domain. MCP's default: true.
	// +optional
	OpenWorldHint *bool `json:"openWorldHint,omitempty"`
}

// ExecutionMode says whether a caller has to speak the Tasks extension.
//
// +kubebuilder:validation:Enum=Required;Optional;Forbidden
type ExecutionMode string

const (
	// ModeRequired: only callers that declare the Tasks extension may call; others get JSON-RPC error -32021.
	ModeRequired ExecutionMode = "Required"
	// ModeOptional: callers that declare Tasks get a task, others wait for the result, at most blockFor.
	ModeOptional ExecutionMode = "Optional"
	// ModeForbidden: every caller waits for the result, at most blockFor; nobody gets a task. For quick tools.
	ModeForbidden ExecutionMode = "Forbidden"
)

// Execution says how calls of a tool are run, how long they may take and how long they are kept.
//
// +kubebuilder:validation:XValidation:rule="!has(self.pollInterval) || !has(self.maxPollInterval) || duration(self.maxPollInterval) >= duration(self.pollInterval)",message="maxPollInterval must not be shorter than pollInterval"
type Execution struct {
	// mode says whether the caller has to speak the Tasks extension. Default: Optional.
	// +optional
	// +kubebuilder:default=Optional
	Mode ExecutionMode `json:"mode,omitempty"`

	// blockFor is how long a call that does not become a task waits for its result (modes Optional and Forbidden). When it
	// is over, the answer says that the work goes on. Default: 25s. 1s to 10m.
	// +optional
	// +kubebuilder:default="25s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('10m')",message="blockFor must be a duration from 1s to 10m"
	BlockFor metav1.Duration `json:"blockFor,omitzero"`

	// pollInterval is what clients are told to wait between two tasks/get at first, and the least that they ever are. Once a call
	// runs, they are told to wait longer the longer it does: about a tenth of that time. Default: 2s. 100ms to 1h.
	// +optional
	// +kubebuilder:default="2s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('100ms') && duration(self) <= duration('1h')",message="pollInterval must be a duration from 100ms to 1h"
	PollInterval metav1.Duration `json:"pollInterval,omitzero"`

	// maxPollInterval is the most that clients are told to wait between two tasks/get, however long a call runs. Not shorter than
	// pollInterval; equal to it, the wait is always the same. Default: 30s, or pollInterval if that is longer. 100ms to 1h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('100ms') && duration(self) <= duration('1h')",message="maxPollInterval must be a duration from 100ms to 1h"
	MaxPollInterval metav1.Duration `json:"maxPollInterval,omitzero"`

	// startupDeadline is how long the Job may take until its container runs: scheduling, image, volumes. Time for which the Job is
	// suspended does not count. Of a Job of several pods it limits how long none of them runs. Default: 10m. 1s to 24h.
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="startupDeadline must be a duration from 1s to 24h"
	StartupDeadline metav1.Duration `json:"startupDeadline,omitzero"`

	// queueDeadline is how long the Job may be suspended at a time, for instance because it waits in a queue (Kueue) or was
	// stopped for a more important one; then the task ends with the reason NotAdmitted. Default: 24h. 1s to 8760h.
	// +optional
	// +kubebuilder:default="24h"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('8760h')",message="queueDeadline must be a duration from 1s to 8760h"
	QueueDeadline metav1.Duration `json:"queueDeadline,omitzero"`

	// deadline is how long each pod of the Job may run; then it is stopped and the task ends with the reason
	// DeadlineExceeded. It becomes the pod's activeDeadlineSeconds, in whole seconds, rounded up. A Job of several pods as a whole
	// may take as long as startupDeadline and deadline together. Default: 1h. 1s to 720h.
	// +optional
	// +kubebuilder:default="1h"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('720h')",message="deadline must be a duration from 1s to 720h"
	Deadline metav1.Duration `json:"deadline,omitzero"`

	// retries is how often the Job may start another pod after one that failed or was disrupted, of all indexes together: the Job's
	// backoffLimit. With backoffLimitPerIndex in the template, that is the limit, and retries must be 0. Default: 0. At most 20.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=20
	Retries int32 `json:"retries,omitempty"`

	// retention says how long a finished call is kept.
	// +optional
	// +kubebuilder:default={}
	Retention Retention `json:"retention,omitempty"`
}

// Retention says how long a finished call is kept.
type Retention struct {
	// task is how long the MCPTask, and with it the result, is kept after the end. null: until someone deletes it (write it with
	// kubectl apply --server-side or kubectl create; a client-side kubectl apply drops a null). Default: 24h. 1s to 8760h.
	// +optional
	// +nullable
	// +kubebuilder:default="24h"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('8760h')",message="retention.task must be null or a duration from 1s to 8760h"
	Task *metav1.Duration `json:"task"`

	// job is how long the Job and its pods are kept after the end, in whole seconds, rounded up: the Job's
	// ttlSecondsAfterFinished, set once the result is on the record. Default: 1h. 0s to 8760h.
	// +optional
	// +kubebuilder:default="1h"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('8760h')",message="retention.job must be a duration from 0s to 8760h"
	Job metav1.Duration `json:"job,omitempty"`
}

// ResultFrom names a place that a result is read from.
//
// +kubebuilder:validation:Enum=Logs;TerminationMessage
type ResultFrom string

const (
	// ResultFromLogs takes the end of the container's log.
	ResultFromLogs ResultFrom = "Logs"
	// ResultFromTerminationMessage takes what the container wrote to /dev/termination-log, at most 4096 bytes.
	ResultFromTerminationMessage ResultFrom = "TerminationMessage"
)

// ResultSource says where a Job's result is read from.
type ResultSource struct {
	// from is Logs or TerminationMessage. Default: Logs.
	// +optional
	// +kubebuilder:default=Logs
	From ResultFrom `json:"from,omitempty"`

	// container is the container whose output is the result and whose exit ends the task. Default: the template's first.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Container string `json:"container,omitempty"`

	// limit is how many bytes of the log, from its end, are kept as the result; a longer log is cut with a visible marker.
	// Default: 256Ki. At most 512Ki.
	// +optional
	// +kubebuilder:default="256Ki"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('1')) >= 0 && quantity(string(self)).compareTo(quantity('512Ki')) <= 0",message="result.limit must be from 1 to 512Ki"
	Limit resource.Quantity `json:"limit,omitzero"`
}

// MCPToolStatus says whether agents can use the tool.
type MCPToolStatus struct {
	// name is the name in the agents' tool list: spec.name, or metadata.name where that is empty.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// observedGeneration is the generation that the conditions speak of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions has one entry, Ready: whether agents see the tool. Its reasons are the ToolReason constants.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ConditionReady is the condition of an MCPTool that says whether agents see it and can call it.
const ConditionReady = "Ready"

// Reasons of an MCPTool's Ready condition.
const (
	// ToolReasonReady: schemas and template are good and the API server accepts the Job.
	ToolReasonReady = "Ready"
	// ToolReasonInvalidSchema: inputSchema or outputSchema is not a usable JSON Schema.
	ToolReasonInvalidSchema = "InvalidSchema"
	// ToolReasonInvalidTemplate: the Job cannot be built from jobTemplate, or the API server refuses it.
	ToolReasonInvalidTemplate = "InvalidTemplate"
	// ToolReasonUnsafeArgument: an argument would be read as shell script or as a flag (see AnnotationUnsafe).
	ToolReasonUnsafeArgument = "UnsafeArgument"
	// ToolReasonInvalidQuestion: a question cannot be asked as it is declared: its schema is no form, a CEL expression does not
	// fit, or the way it is asked does not go with the tool.
	ToolReasonInvalidQuestion = "InvalidQuestion"
	// ToolReasonInvalidBinding: a binding names a field that cannot be bound, its CEL expression does not fit, or what it makes of
	// an example does not.
	ToolReasonInvalidBinding = "InvalidBinding"
	// ToolReasonNameConflict: another tool of the same name wins.
	ToolReasonNameConflict = "NameConflict"
	// ToolReasonInvalidSelector: tenantSelector is malformed, or set outside of the catalog namespace.
	ToolReasonInvalidSelector = "InvalidSelector"
)
