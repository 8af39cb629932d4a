package v1alpha1

// Names of the companion tools. Where they are switched on, no MCPTool can have one of these names: it is not Ready, with the
// reason NameConflict.
const (
	// CompanionStatus waits for a task and gives its result.
	CompanionStatus = "task_status"
	// CompanionCancel stops a task.
	CompanionCancel = "task_cancel"
)

// CompanionNames are the names of all companion tools.
func CompanionNames() []string { return []string{CompanionCancel, CompanionStatus} }
