package v1alpha1

// Reasons of an MCPTask (status.reason). docs/reference/states.md lists the rules that lead to them; a test holds both together.
const (
	// ReasonQueued: accepted; the Job has no pod yet, or has been suspended.
	ReasonQueued = "Queued"
	// ReasonStarting: there is a pod, its main container does not run yet; the message says what it waits for.
	ReasonStarting = "Starting"
	// ReasonRunning: the main container runs.
	ReasonRunning = "Running"
	// ReasonCancelling: somebody asked to cancel; the pods are being stopped.
	ReasonCancelling = "Cancelling"
	// ReasonAwaitingInput: a question is open.
	ReasonAwaitingInput = "AwaitingInput"

	// ReasonSucceeded: the main container exited with 0.
	ReasonSucceeded = "Succeeded"
	// ReasonToolError: the main container exited with another code.
	ReasonToolError = "ToolError"
	// ReasonOOMKilled: the main container was killed because it ran out of memory.
	ReasonOOMKilled = "OOMKilled"
	// ReasonDeadlineExceeded: the pod ran longer than execution.deadline.
	ReasonDeadlineExceeded = "DeadlineExceeded"
	// ReasonInvalidOutput: the output does not fit outputSchema.
	ReasonInvalidOutput = "InvalidOutput"
	// ReasonDeclined: a question was declined, or its answer does not let the tool run.
	ReasonDeclined = "Declined"

	// ReasonImagePullFailed: the image could not be pulled by startupDeadline.
	ReasonImagePullFailed = "ImagePullFailed"
	// ReasonCannotStart: the container could not be created or started by startupDeadline.
	ReasonCannotStart = "CannotStart"
	// ReasonUnschedulable: no node took the pod by startupDeadline.
	ReasonUnschedulable = "Unschedulable"
	// ReasonNotAdmitted: the Job was suspended for longer than queueDeadline.
	ReasonNotAdmitted = "NotAdmitted"
	// ReasonQuotaExceeded: a quota kept the pod or the task from being created.
	ReasonQuotaExceeded = "QuotaExceeded"
	// ReasonRejected: the API server refused the Job or its pod.
	ReasonRejected = "Rejected"
	// ReasonDisrupted: the pod was evicted, preempted or lost with its node.
	ReasonDisrupted = "Disrupted"
	// ReasonOutcomeUnknown: pod or Job were gone before their outcome was read.
	ReasonOutcomeUnknown = "OutcomeUnknown"
	// ReasonToolChanged: before the start the tool was removed, or changed so that the arguments no longer fit, or, where it asks
	// questions, changed at all.
	ReasonToolChanged = "ToolChanged"

	// ReasonCancelled: cancelled as asked, and the pods are gone.
	ReasonCancelled = "Cancelled"
	// ReasonQuestionCancelled: a question was dismissed without an answer.
	ReasonQuestionCancelled = "QuestionCancelled"
	// ReasonQuestionExpired: a question was not answered by its deadline.
	ReasonQuestionExpired = "QuestionExpired"
	// ReasonJobDeleted: someone deleted the Job while it ran.
	ReasonJobDeleted = "JobDeleted"
)
