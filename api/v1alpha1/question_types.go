package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Limits of questions and their answers.
const (
	// MaxToolQuestions is how many questions a tool may declare.
	MaxToolQuestions = 16
	// MaxQuestionMessage is how long the message of a question may be, in characters.
	MaxQuestionMessage = 4096
	// MaxQuestionSchemaBytes is the most that the schema of a question may take, as JSON.
	MaxQuestionSchemaBytes = 16 << 10
	// MaxAnswerBytes is the most that the content of one answer may take, as JSON.
	MaxAnswerBytes = 64 << 10
	// MaxAnswersBytes is the most that the contents of all answers of a task may take together, each as it is stored: as JSON that
	// is a string within the JSON of the object, and so escaped once more. With the arguments they have to fit into the 256 KiB that
	// Kubernetes gives a pod's annotations.
	MaxAnswersBytes = 96 << 10
)

// QuestionAsk says where a question that a tool declares is asked.
//
// +kubebuilder:validation:Enum=Task;Call
type QuestionAsk string

const (
	// AskTask: the task exists and has the state input_required until it is answered; tasks/update carries the answer (Tasks
	// extension, "Task Update Requests").
	AskTask QuestionAsk = "Task"
	// AskCall: the call itself is answered with input_required, and a repeated call that carries the answer creates the task (MCP
	// 2026-07-28, multi round-trip requests). Nothing is recorded until then.
	AskCall QuestionAsk = "Call"
)

// ToolQuestion is something that a person has to answer before a call of the tool becomes a Job: an MCP form elicitation. No pod
// waits for the answer.
//
// when, message and proceedIf are CEL expressions with the variables
//
//   - arguments: the call's arguments, typed by the tool's inputSchema. A property that the caller may leave out is tested with
//     has(arguments.steps) or read with arguments.?steps.orValue(1); a name that is no CEL identifier stands in backticks.
//   - answers: the content of the accepted answers to other questions, by key, as answers.<key>.<property>. A question is not
//     asked before the questions that its when and message name are out of the way; one that was not asked at all is absent
//     from answers.
//   - answer, in proceedIf only: the content of the accepted answer to this question.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.ask) && self.ask == 'Call' && has(self.deadline))",message="deadline goes with ask: Task; a question with ask: Call is asked before there is a task that could wait"
type ToolQuestion struct {
	// key names the question, unique within the tool; it is the key in inputRequests and in answers. 1 to 63 characters: a letter,
	// then letters, digits and "_".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9_]*$`
	Key string `json:"key"`

	// when is a CEL expression of type bool: whether the question is asked at all. Default: always. At most 2048 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	When string `json:"when,omitempty"`

	// message is a CEL expression of type string: what the person reads, for instance
	// "'Apply ' + string(arguments.steps) + ' migrations?'". Control characters are removed from its value, and what is longer than
	// 4096 characters is cut. 1 to 2048 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Message string `json:"message"`

	// schema is the form: a JSON Schema with type "object" whose properties are strings, numbers, integers, booleans, or a choice
	// of one or several strings, as MCP's form elicitation has them (MCP 2026-07-28, client/elicitation). It must not ask for a
	// password, a token or another secret. Default: a form without fields, which can only be accepted or declined. At most 16 KiB
	// as JSON.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Schema *apiextensionsv1.JSON `json:"schema,omitempty"`

	// proceedIf is a CEL expression of type bool, evaluated once the question was accepted: where it is false the call ends as if
	// the question had been declined. Default: every accepted answer lets the call proceed. At most 2048 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	ProceedIf string `json:"proceedIf,omitempty"`

	// ask says where the question is asked: Task, by the state input_required of the task, or Call, in answer to the call itself.
	// Default: Task.
	// +optional
	// +kubebuilder:default=Task
	Ask QuestionAsk `json:"ask,omitempty"`

	// deadline is how long the question may stay unanswered, from when it was asked; then the call ends as cancelled. Only with
	// ask: Task. Default: 24h. 1s to 720h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('720h')",message="deadline must be a duration from 1s to 720h"
	Deadline *metav1.Duration `json:"deadline,omitempty"`
}
