package draft

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// needs are the objects that a pod refers to by name, sorted, without those that it can do without.
func needs(pod *corev1.PodSpec) []string {
	var all []string
	need := func(kind, name string, optional *bool) {
		if name != "" && (optional == nil || !*optional) {
			all = append(all, kind+" "+name)
		}
	}
	for _, secret := range pod.ImagePullSecrets {
		need("Secret", secret.Name, nil)
	}
	if pod.ServiceAccountName != "default" {
		need("ServiceAccount", pod.ServiceAccountName, nil)
	}
	for c := range containers(pod) {
		for _, from := range c.EnvFrom {
			if from.SecretRef != nil {
				need("Secret", from.SecretRef.Name, from.SecretRef.Optional)
			}
			if from.ConfigMapRef != nil {
				need("ConfigMap", from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
			}
		}
		for _, e := range c.Env {
			if e.ValueFrom == nil {
				continue
			}
			if ref := e.ValueFrom.SecretKeyRef; ref != nil {
				need("Secret", ref.Name, ref.Optional)
			}
			if ref := e.ValueFrom.ConfigMapKeyRef; ref != nil {
				need("ConfigMap", ref.Name, ref.Optional)
			}
		}
	}
	for i := range pod.Volumes {
		v := &pod.Volumes[i]
		if v.PersistentVolumeClaim != nil {
			need("PersistentVolumeClaim", v.PersistentVolumeClaim.ClaimName, nil)
		}
		if v.Secret != nil {
			need("Secret", v.Secret.SecretName, v.Secret.Optional)
		}
		if v.ConfigMap != nil {
			need("ConfigMap", v.ConfigMap.Name, v.ConfigMap.Optional)
		}
		if v.Projected == nil {
			continue
		}
		for _, source := range v.Projected.Sources {
			if source.Secret != nil {
				need("Secret", source.Secret.Name, source.Secret.Optional)
			}
			if source.ConfigMap != nil {
				need("ConfigMap", source.ConfigMap.Name, source.ConfigMap.Optional)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
