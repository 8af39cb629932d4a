// Package controller is the only writer of status: it turns MCPTasks into Jobs, follows them, and puts what became of them on
// the record; it deletes expired MCPTasks, and it says which MCPTools are Ready.
//
// What state follows from what is seen is decided by package task, how a Job is made and read by package job; this package
// fetches and acts. It must not know MCP or its endpoint: the two meet in the MCPTask objects only.
package controller

// The rights of the controller's service account, for controller-gen. It reads no Secrets, deletes only those with arguments (the
// chart's admission policy sees to that), and changes no spec of an MCPTask.
//
// +kubebuilder:rbac:groups=mcptasks.dev,resources=mcptasks,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=mcptasks.dev,resources=mcptasks/status,verbs=patch
// +kubebuilder:rbac:groups=mcptasks.dev,resources=mcptools,verbs=get;list;watch
// +kubebuilder:rbac:groups=mcptasks.dev,resources=mcptools/status,verbs=patch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=pods/log,verbs=get
// +kubebuilder:rbac:groups="",resources=events,verbs=list
// +kubebuilder:rbac:groups="",resources=secrets,verbs=delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list;watch
//
// Where the admission plugin OwnerReferencesPermissionEnforcement is on, as in OpenShift, a Job may only have an owner that
// blocks on it if its creator may set that owner's finalizers.
//
// +kubebuilder:rbac:groups=mcptasks.dev,resources=mcptasks/finalizers,verbs=update
//
// In its own namespace it holds the lease, and says in an event who does. (The chart puts the release's namespace for this one.)
//
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=mcptasks,resources=leases,verbs=get;create;update
// +kubebuilder:rbac:groups="",namespace=mcptasks,resources=events,verbs=create;patch
