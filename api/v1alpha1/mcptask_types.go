package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// MCPTask is the durable record of one call of an MCPTool. Its name is the task id on the wire and the name of its Job. The
// endpoint creates it and writes only its spec; the controller writes only its status.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=mcpt,categories=mcp
// +kubebuilder:printcolumn:name="Tool",type=string,JSONPath=`.spec.tool.name`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.reason`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Owner",type=string,JSONPath=`.spec.owner.subject`,priority=1
// +kubebuilder:printcolumn:name="Job",type=string,JSONPath=`.status.job.name`,priority=1
// +kubebuilder:printcolumn:name="Expires",type=string,JSONPath=`.status.expiresAt`,priority=1
// +kubebuilder:validation:XValidation:rule="!has(self.spec.answers) || self.spec.answers.all(k, has(self.status) && has(self.status.questions) && k in self.status.questions)",message="spec.answers may only answer questions that status.questions asks"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || has(self.status)",message="status cannot be removed"
type MCPTask struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the object's metadata, as in every Kubernetes object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the call. Only answers and cancel can be added to it later.
	// +required
	Spec MCPTaskSpec `json:"spec"`
	// status is what became of the call. Only the controller writes it.
	// +optional
	Status MCPTaskStatus `json:"status,omitempty"`
}

// MCPTaskList is a list of MCPTasks.
//
// +kubebuilder:object:root=true
type MCPTaskList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MCPTask `json:"items"`
}

// MCPTaskSpec is the call: what was asked for, by whom, and what its caller has said since. Only answers and cancel can be added
// later; nothing can be changed or taken back.
//
// +kubebuilder:validation:XValidation:rule="self.tool == oldSelf.tool",message="spec.tool is immutable"
// +kubebuilder:validation:XValidation:rule="self.arguments == oldSelf.arguments",message="spec.arguments is immutable"
// +kubebuilder:validation:XValidation:rule="has(self.secretArguments) == has(oldSelf.secretArguments)",message="spec.secretArguments is immutable"
// +kubebuilder:validation:XValidation:rule="self.owner == oldSelf.owner",message="spec.owner is immutable"
// +kubebuilder:validation:XValidation:rule="self.execution == oldSelf.execution && self.result == oldSelf.result",message="spec.execution and spec.result are immutable"
// +kubebuilder:validation:XValidation:rule="has(self.traceparent) == has(oldSelf.traceparent) && (!has(self.traceparent) || self.traceparent == oldSelf.traceparent)",message="spec.traceparent is immutable"
// +kubebuilder:validation:XValidation:rule="has(self.callAnswers) == has(oldSelf.callAnswers) && (!has(self.callAnswers) || self.callAnswers == oldSelf.callAnswers)",message="spec.callAnswers is immutable"
// +kubebuilder:validation:XValidation:rule="has(self.questionsDeadline) == has(oldSelf.questionsDeadline) && (!has(self.questionsDeadline) || self.questionsDeadline == oldSelf.questionsDeadline)",message="spec.questionsDeadline is immutable"
// +kubebuilder:validation:XValidation:rule="has(self.idempotency) == has(oldSelf.idempotency) && (!has(self.idempotency) || self.idempotency == oldSelf.idempotency)",message="spec.idempotency is immutable"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.cancel) || (has(self.cancel) && self.cancel == oldSelf.cancel)",message="spec.cancel cannot be changed or taken back"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.answers) || (has(self.answers) && oldSelf.answers.all(k, k in self.answers && self.answers[k] == oldSelf.answers[k]))",message="an answer cannot be changed or taken back"
type MCPTaskSpec struct {
	// tool is the MCPTool that was called, as it was at the time of the call.
	// +required
	Tool ToolReference `json:"tool"`

	// arguments are the call's arguments, a JSON object: byte for byte what the caller sent, or, with secretArguments, what is left
	// of it without the values that the tool's inputSchema marks writeOnly. At most 131072 characters.
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=131072
	Arguments string `json:"arguments"`

	// secretArguments is set where the call has arguments that the tool's inputSchema marks writeOnly. They are in a Secret of the
	// task's name, which is deleted when the task ends.
	// +optional
	SecretArguments *SecretArguments `json:"secretArguments,omitempty"`

	// owner is the caller: only the same issuer and subject may see, answer or cancel the task.
	// +required
	Owner Owner `json:"owner"`

	// execution is the tool's execution at the time of the call; later changes of the tool do not touch the task.
	// +required
	Execution Execution `json:"execution"`

	// result is the tool's result source at the time of the call.
	// +optional
	// +kubebuilder:default={}
	Result ResultSource `json:"result,omitempty"`

	// traceparent is the W3C trace context of the call, where the caller sent one. It is passed on to the Job and its pods as the
	// annotation mcptasks.dev/traceparent.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Traceparent string `json:"traceparent,omitempty"`

	// callAnswers are the answers that came with the call, by key: to the tool's questions with ask: Call.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	CallAnswers map[string]Answer `json:"callAnswers,omitempty"`

	// questionsDeadline is the longest that the tool's questions with ask: Task, as they were at the time of the call, may keep
	// the task waiting. Absent: the tool had none.
	// +optional
	QuestionsDeadline *metav1.Duration `json:"questionsDeadline,omitempty"`

	// idempotency is set where the call carried an idempotency key; then the task's name follows from the key.
	// +optional
	Idempotency *Idempotency `json:"idempotency,omitempty"`

	// answers are the caller's answers to status.questions, by key. An answer is final.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Answers map[string]Answer `json:"answers,omitempty"`

	// cancel is set once someone wants the task stopped. It cannot be taken back.
	// +optional
	Cancel *Cancellation `json:"cancel,omitempty"`
}

// SecretArguments says where the arguments are that must not be on the record. The Secret has the name of the task, the type
// mcptasks.dev/arguments and the task as its owner. Its entry arguments.json is the caller's JSON object, byte for byte.
//
// +kubebuilder:validation:XValidation:rule="has(self.variables) == has(oldSelf.variables) && (!has(self.variables) || self.variables == oldSelf.variables)",message="secretArguments.variables is immutable"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.storedAt) || has(self.storedAt)",message="secretArguments.storedAt cannot be taken back"
type SecretArguments struct {
	// variables are the other entries of the Secret, each the value of the environment variable of the same name. At most 256.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:items:Pattern=`^MCP_ARG_[A-Z0-9_]+$`
	Variables []string `json:"variables,omitempty"`
	// storedAt is when the endpoint had created the Secret. Until then there is no Job.
	// +optional
	StoredAt *metav1.MicroTime `json:"storedAt,omitempty"`
}

// Idempotency lets a repeated call find the task that the first one became. It holds neither the caller's key nor anything that
// the key or the task's name could be guessed by.
type Idempotency struct {
	// keyHash is a keyed hash of tenant, owner, tool and the caller's key, in hexadecimal.
	// +required
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	KeyHash string `json:"keyHash"`
	// argumentsHash is a keyed hash of all arguments, the secret ones included, and callAnswers in canonical form (members sorted,
	// no white space, numbers as they were written), in hexadecimal. A call with the same key and another hash is refused.
	// +required
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	ArgumentsHash string `json:"argumentsHash"`
}

// ToolReference names an MCPTool at one generation.
type ToolReference struct {
	// namespace of the MCPTool: the task's own, or the catalog namespace.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// name is the MCPTool's metadata.name.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// uid of the MCPTool.
	// +required
	UID types.UID `json:"uid"`
	// generation of the MCPTool that the arguments were validated against.
	// +required
	// +kubebuilder:validation:Minimum=1
	Generation int64 `json:"generation"`
}

// Owner is an authenticated caller.
type Owner struct {
	// issuer is who vouched for the caller: "kubernetes" for tokens of this cluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Issuer string `json:"issuer"`
	// subject is the caller's name at that issuer, for instance "system:serviceaccount:team-a:agent".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Subject string `json:"subject"`
}

// AnswerAction is what a person did with a question (MCP elicitation).
//
// +kubebuilder:validation:Enum=accept;decline;cancel
type AnswerAction string

// The three things a person can do with a question.
const (
	AnswerAccept  AnswerAction = "accept"
	AnswerDecline AnswerAction = "decline"
	AnswerCancel  AnswerAction = "cancel"
)

// Answer is the answer to one question.
type Answer struct {
	// action is what the person did.
	// +required
	Action AnswerAction `json:"action"`
	// content is the answer as a JSON object, byte for byte; only with action accept. At most 65536 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	Content string `json:"content,omitempty"`
	// at is when the endpoint accepted the answer.
	// +required
	At metav1.MicroTime `json:"at"`
}

// Cancellation is the wish to stop a task.
type Cancellation struct {
	// at is when the wish was recorded.
	// +required
	At metav1.MicroTime `json:"at"`
	// by is the subject that asked for it.
	// +required
	// +kubebuilder:validation:MaxLength=512
	By string `json:"by"`
	// reason in words, shown in the task's status message. At most 512 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason,omitempty"`
}

// TaskState is one of the five task states of the Tasks extension (SEP-2663), with the word of the wire.
//
// +kubebuilder:validation:Enum=working;input_required;completed;failed;cancelled
type TaskState string

const (
	// StateWorking: the work is waiting to start or running.
	StateWorking TaskState = "working"
	// StateInputRequired: at least one question is unanswered.
	StateInputRequired TaskState = "input_required"
	// StateCompleted: there is a result. A tool that ran and went wrong is completed, with isError in its result.
	StateCompleted TaskState = "completed"
	// StateFailed: there is no result because the call could not be carried out; status.error says why.
	StateFailed TaskState = "failed"
	// StateCancelled: the work was stopped because somebody asked for it.
	StateCancelled TaskState = "cancelled"
)

// Terminal reports whether nothing can follow the state.
func (s TaskState) Terminal() bool {
	return s == StateCompleted || s == StateFailed || s == StateCancelled
}

// MCPTaskStatus is what became of the call so far.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.state) || !(oldSelf.state in ['completed','failed','cancelled']) || (has(self.state) && self.state == oldSelf.state)",message="a finished task does not change its state"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.result) || (has(self.result) && self.result == oldSelf.result)",message="status.result is final"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.error) || (has(self.error) && self.error == oldSelf.error)",message="status.error is final"
// +kubebuilder:validation:XValidation:rule="(has(self.state) && self.state == 'completed') == has(self.result)",message="status.result goes with the state completed, and only with it"
// +kubebuilder:validation:XValidation:rule="(has(self.state) && self.state == 'failed') == has(self.error)",message="status.error goes with the state failed, and only with it"
type MCPTaskStatus struct {
	// state is the task's state on the wire. Empty until the controller has seen the task, which clients see as working.
	// +optional
	State TaskState `json:"state,omitempty"`

	// reason is the machine-readable cause of state: one of the Reason constants.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`

	// message says in words what is going on or what happened: the wire's statusMessage. At most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// questions are all questions ever asked, by key. A key is never used twice.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Questions map[string]Question `json:"questions,omitempty"`

	// result is the MCP CallToolResult as JSON, exactly as clients get it. Set with the state completed.
	// +optional
	// +kubebuilder:validation:MaxLength=1048576
	Result string `json:"result,omitempty"`

	// error is the JSON-RPC error of a call that could not be carried out. Set with the state failed.
	// +optional
	Error *TaskError `json:"error,omitempty"`

	// job is the Job that the call became. Once it is set, no other Job is ever created for the task.
	// +optional
	Job *JobReference `json:"job,omitempty"`

	// admitBy is when the Job has to be resumed at the latest, if it is suspended, or had to be when it last was. Absent: it never
	// was.
	// +optional
	AdmitBy *metav1.MicroTime `json:"admitBy,omitempty"`
	// log is where the log lies that the result was read from, for as long as the Job is kept.
	// +optional
	Log *LogReference `json:"log,omitempty"`

	// startedAt is when the main container began to run.
	// +optional
	StartedAt *metav1.MicroTime `json:"startedAt,omitempty"`
	// finishedAt is when the task reached its terminal state.
	// +optional
	FinishedAt *metav1.MicroTime `json:"finishedAt,omitempty"`
	// lastUpdatedAt is when anything in this status last changed.
	// +optional
	LastUpdatedAt *metav1.MicroTime `json:"lastUpdatedAt,omitempty"`
	// expiresAt is when the finished task will be deleted. Absent: not finished, or kept until someone deletes it.
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`

	// conditions are InputRequired (questions are open), Started (the main container ran) and Finished (the state is terminal).
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Question is something that the task's caller has to answer: an MCP form elicitation.
type Question struct {
	// message says what is asked.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Message string `json:"message"`
	// requestedSchema is the JSON Schema of the answer's content, a flat object of primitives, as JSON.
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=16384
	RequestedSchema string `json:"requestedSchema"`
	// askedAt is when the question was asked.
	// +required
	AskedAt metav1.MicroTime `json:"askedAt"`
	// answerBy is when the call ends as cancelled if the question is still open. Absent: never.
	// +optional
	AnswerBy *metav1.MicroTime `json:"answerBy,omitempty"`
}

// TaskError is a JSON-RPC error.
type TaskError struct {
	// code is the JSON-RPC error code, for instance -32603.
	// +required
	Code int32 `json:"code"`
	// message is one sentence for the caller.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message"`
	// data is a JSON object with details, at least {"reason": "..."}.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Data string `json:"data,omitempty"`
}

// JobReference names a Job in the task's namespace.
type JobReference struct {
	// name of the Job, equal to the task's.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// uid of the Job.
	// +required
	UID types.UID `json:"uid"`
}

// LogReference names a container of the task's Job.
type LogReference struct {
	// pod of the container, in the task's namespace.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Pod string `json:"pod"`
	// container is the container's name.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Container string `json:"container"`
}

// Conditions of an MCPTask.
const (
	// ConditionInputRequired: questions are open. Its observedGeneration is that of the answers which were counted in.
	ConditionInputRequired = "InputRequired"
	// ConditionStarted: the main container has begun to run.
	ConditionStarted = "Started"
	// ConditionFinished: the state is terminal.
	ConditionFinished = "Finished"
)
