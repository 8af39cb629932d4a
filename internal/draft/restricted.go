package draft

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// A demand is something that a pod asks for explicitly, and the strictest level of Pod Security that grants it.
type demand struct{ what, level string }

const (
	levelBaseline   = "baseline"
	levelPrivileged = "privileged"
)

// defaultUser is the user that pods run as whose manifest does not name any.
const defaultUser = int64(65532)

// baselineCapabilities may be added under the level baseline (Kubernetes, "Pod Security Standards").
var baselineCapabilities = []corev1.Capability{
	"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP", "SETGID",
	"SETPCAP", "SETUID", "SYS_CHROOT",
}

// demands are what a pod asks for that the level restricted does not grant. What it only leaves open is not among them.
func demands(template *corev1.PodTemplateSpec) []demand {
	var all []demand
	ask := func(set bool, level, what string) {
		if set {
			all = append(all, demand{what, level})
		}
	}
	pod := &template.Spec
	ask(pod.HostNetwork, levelPrivileged, "hostNetwork")
	ask(pod.HostPID, levelPrivileged, "hostPID")
	ask(pod.HostIPC, levelPrivileged, "hostIPC")
	for i := range pod.Volumes {
		v := &pod.Volumes[i]
		ask(v.HostPath != nil, levelPrivileged, fmt.Sprintf("the hostPath volume %s", v.Name))
		ask(v.HostPath == nil && !restrictedVolume(&v.VolumeSource), levelBaseline, fmt.Sprintf("the type of the volume %s", v.Name))
	}
	for key, value := range template.Annotations {
		ask(strings.HasPrefix(key, corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix) && value == "unconfined", levelPrivileged,
			"AppArmor unconfined")
	}
	if s := pod.SecurityContext; s != nil {
		ask(s.RunAsUser != nil && *s.RunAsUser == 0, levelBaseline, "runAsUser 0")
		ask(s.RunAsNonRoot != nil && !*s.RunAsNonRoot, levelBaseline, "runAsNonRoot false")
		ask(unconfined(s.SeccompProfile), levelPrivileged, "seccomp Unconfined")
		ask(s.AppArmorProfile != nil && s.AppArmorProfile.Type == corev1.AppArmorProfileTypeUnconfined, levelPrivileged,
			"AppArmor unconfined")
		ask(len(s.Sysctls) > 0, levelPrivileged, "sysctls")
	}
	for c := range containers(pod) {
		all = append(all, containerDemands(c)...)
	}
	slices.SortStableFunc(all, func(a, b demand) int { return strings.Compare(a.what, b.what) })
	return slices.Compact(all)
}

func containerDemands(c *corev1.Container) []demand {
	var all []demand
	ask := func(set bool, level, what string) {
		if set {
			all = append(all, demand{what + " of the container " + c.Name, level})
		}
	}
	for i := range c.Ports {
		ask(c.Ports[i].HostPort != 0, levelPrivileged, "hostPort")
	}
	s := c.SecurityContext
	if s == nil {
		return all
	}
	ask(ptr.Deref(s.Privileged, false), levelPrivileged, "privileged")
	ask(ptr.Deref(s.AllowPrivilegeEscalation, false), levelBaseline, "allowPrivilegeEscalation")
	ask(s.RunAsUser != nil && *s.RunAsUser == 0, levelBaseline, "runAsUser 0")
	ask(s.RunAsNonRoot != nil && !*s.RunAsNonRoot, levelBaseline, "runAsNonRoot false")
	ask(unconfined(s.SeccompProfile), levelPrivileged, "seccomp Unconfined")
	ask(s.AppArmorProfile != nil && s.AppArmorProfile.Type == corev1.AppArmorProfileTypeUnconfined, levelPrivileged,
		"AppArmor unconfined")
	ask(s.ProcMount != nil && *s.ProcMount != corev1.DefaultProcMount, levelPrivileged, "procMount")
	if s.Capabilities != nil {
		for _, capability := range s.Capabilities.Add {
			switch {
			case capability == "NET_BIND_SERVICE":
			case slices.Contains(baselineCapabilities, capability):
				ask(true, levelBaseline, "the capability "+string(capability))
			default:
				ask(true, levelPrivileged, "the capability "+string(capability))
			}
		}
	}
	return all
}

func unconfined(profile *corev1.SeccompProfile) bool {
	return profile != nil && profile.Type == corev1.SeccompProfileTypeUnconfined
}

func restrictedVolume(v *corev1.VolumeSource) bool {
	return v.ConfigMap != nil || v.CSI != nil || v.DownwardAPI != nil || v.EmptyDir != nil || v.Ephemeral != nil ||
		v.PersistentVolumeClaim != nil || v.Projected != nil || v.Secret != nil || v.Image != nil ||
		*v == (corev1.VolumeSource{}) // an emptyDir
}

// restrict fills in what the level restricted demands and the pod leaves open. It reports whether it chose a user.
func restrict(pod *corev1.PodSpec) (user bool) {
	if pod.SecurityContext == nil {
		pod.SecurityContext = &corev1.PodSecurityContext{}
	}
	s := pod.SecurityContext
	if s.RunAsNonRoot == nil && s.RunAsUser == nil {
		// Where each container names one there is nothing to choose.
		for c := range containers(pod) {
			user = user || c.SecurityContext == nil || c.SecurityContext.RunAsUser == nil && c.SecurityContext.RunAsNonRoot == nil
		}
	}
	if user {
		s.RunAsUser, s.RunAsGroup = ptr.To(defaultUser), ptr.To(defaultUser)
		if s.FSGroup == nil && len(pod.Volumes) > 0 {
			s.FSGroup = ptr.To(defaultUser)
		}
	}
	if s.RunAsNonRoot == nil {
		s.RunAsNonRoot = ptr.To(true)
	}
	if s.SeccompProfile == nil {
		s.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	}
	for c := range containers(pod) {
		if c.SecurityContext == nil {
			c.SecurityContext = &corev1.SecurityContext{}
		}
		s := c.SecurityContext
		if s.AllowPrivilegeEscalation == nil {
			s.AllowPrivilegeEscalation = ptr.To(false)
		}
		if s.Capabilities == nil {
			s.Capabilities = &corev1.Capabilities{}
		}
		if !slices.Contains(s.Capabilities.Drop, "ALL") {
			s.Capabilities.Drop = []corev1.Capability{"ALL"}
		}
	}
	return user
}

// containers are all containers of a pod, those for its start first.
func containers(pod *corev1.PodSpec) func(yield func(*corev1.Container) bool) {
	return func(yield func(*corev1.Container) bool) {
		for _, list := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}
