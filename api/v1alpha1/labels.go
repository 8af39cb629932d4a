package v1alpha1

// Labels and annotations that mcptasks sets or reads.
const (
	// LabelTenant on a namespace names the tenant that owns it. A namespace without it is never used for tasks.
	LabelTenant = "mcptasks.dev/owner"
	// LabelTool on MCPTasks, Jobs and pods is the metadata.name of the MCPTool that was called.
	LabelTool = "mcptasks.dev/tool"
	// LabelTask on Jobs and pods is the name of the MCPTask, which is also the task id on the wire.
	LabelTask = "mcptasks.dev/task"
	// LabelSeveral on pods says, with the value "true", that the pod is one of several that do the work of a task together.
	LabelSeveral = "mcptasks.dev/several"
	// LabelOwner on MCPTasks is a hash of the creator's issuer and subject, an index for lists; the authority is
	// spec.owner.
	LabelOwner = "mcptasks.dev/owner"
	// AnnotationArguments on pods carries the call's arguments to /mcp/arguments.json, byte for byte.
	AnnotationArguments = "mcptasks.dev/arguments"
	// AnnotationAnswers on pods carries the answers to the tool's questions to /mcp/answers.json.
	AnnotationAnswers = "mcptasks.dev/answers"
	// AnnotationTraceparent on Jobs and pods is the W3C trace context of the call, where the caller sent one.
	AnnotationTraceparent = "mcptasks.dev/traceparent"
	// AnnotationOutputSchema on Jobs is the tool's outputSchema as it was when the Job was made, where it has one.
	AnnotationOutputSchema = "mcptasks.dev/output-schema"
	// AnnotationUnsafe on an MCPTool accepts, as a comma-separated list, checks that would otherwise make the tool not
	// Ready: "shell" (an argument is expanded inside a shell script string) and "dash" (an argument that may begin with
	// "-" stands as an argv element of its own).
	AnnotationUnsafe = "mcptasks.dev/allow-unsafe"
)

// SecretTypeArguments is the type of the Secrets that hold arguments which must not be on the record. The chart's admission
// policy lets endpoint and controller create and delete Secrets of this type only.
const SecretTypeArguments = "mcptasks.dev/arguments"

// Limits that hold for every object of this API.
const (
	// MaxArgumentsBytes is the most a call's arguments may take, as JSON.
	MaxArgumentsBytes = 128 << 10
	// MaxResultBytes is the most a task's result may take as it is stored: as JSON that is a string within the JSON of the
	// object, and so escaped once more. It leaves room for the rest of the object below the 1.5 MiB that etcd accepts.
	MaxResultBytes = 1 << 20
)
