{{/* Name of everything that the release installs. */}}
{{- define "mcptasks.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Labels of everything that the release installs. */}}
{{- define "mcptasks.labels" -}}
{{ include "mcptasks.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{/* Labels that pods are selected by; these never change in an upgrade. */}}
{{- define "mcptasks.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "mcptasks.catalogNamespace" -}}
{{- default .Release.Namespace .Values.catalogNamespace -}}
{{- end -}}

{{/* What both pods have in common. Context: root, component, values (of the component), args. */}}
{{- define "mcptasks.deployment" -}}
{{- $root := .root -}}
{{- $component := .component -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "mcptasks.fullname" $root }}-{{ $component }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "mcptasks.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ $component }}
spec:
  replicas: {{ .values.replicas }}
  selector:
    matchLabels:
      {{- include "mcptasks.selector" $root | nindent 6 }}
      app.kubernetes.io/component: {{ $component }}
  strategy:
    type: RollingUpdate
    rollingUpdate: {maxUnavailable: 0, maxSurge: 1}
  template:
    metadata:
      labels:
        {{- with .values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- include "mcptasks.labels" $root | nindent 8 }}
        app.kubernetes.io/component: {{ $component }}
      annotations:
        kubectl.kubernetes.io/default-container: {{ $component }}
        {{- with .values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "mcptasks.fullname" $root }}-{{ $component }}
      {{- with $root.Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        seccompProfile: {type: RuntimeDefault}
      {{- with .values.terminationGracePeriodSeconds }}
      terminationGracePeriodSeconds: {{ . }}
      {{- end }}
      containers:
      - name: {{ $component }}
        image: "{{ $root.Values.image.repository }}:{{ default $root.Chart.AppVersion $root.Values.image.tag }}"
        imagePullPolicy: {{ $root.Values.image.pullPolicy }}
        args:
        - {{ $component }}
        - --log-level={{ $root.Values.log.level }}
        - --log-format={{ $root.Values.log.format }}
        - --catalog-namespace={{ include "mcptasks.catalogNamespace" $root }}
        {{- range .args }}
        - {{ . | quote }}
        {{- end }}
        env:
        - name: POD_NAMESPACE
          valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
        - name: POD_NAME
          valueFrom: {fieldRef: {fieldPath: metadata.name}}
        ports:
        {{- if eq $component "endpoint" }}
        - {name: mcp, containerPort: 8080}
        {{- end }}
        - {name: health, containerPort: 8081}
        - {name: metrics, containerPort: 8082}
        livenessProbe:
          httpGet: {path: /healthz, port: health}
          periodSeconds: 10
          failureThreshold: 6
        readinessProbe:
          httpGet: {path: /readyz, port: health}
          periodSeconds: 2
        {{- if eq $component "endpoint" }}
        lifecycle:
          # Until then the cluster has stopped sending new calls here; the server finishes those it has.
          preStop: {sleep: {seconds: 5}}
        {{- end }}
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities: {drop: [ALL]}
        resources:
          {{- toYaml .values.resources | nindent 10 }}
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: ScheduleAnyway
        labelSelector:
          matchLabels:
            {{- include "mcptasks.selector" $root | nindent 12 }}
            app.kubernetes.io/component: {{ $component }}
      {{- with .values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end -}}

{{/* Service account, roles from files/rbac and their bindings. Context: root, component. */}}
{{- define "mcptasks.rbac" -}}
{{- $root := .root -}}
{{- $component := .component -}}
{{- $name := printf "%s-%s" (include "mcptasks.fullname" $root) $component -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "mcptasks.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ $component }}
{{- range splitList "\n---\n" ($root.Files.Get (printf "files/rbac/%s.yaml" $component)) }}
{{- $role := fromYaml . }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $role.kind }}
metadata:
  name: {{ $name }}
  {{- if eq $role.kind "Role" }}
  namespace: {{ $root.Release.Namespace }}
  {{- end }}
  labels:
    {{- include "mcptasks.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ $component }}
rules:
{{- toYaml $role.rules | nindent 0 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $role.kind }}Binding
metadata:
  name: {{ $name }}
  {{- if eq $role.kind "Role" }}
  namespace: {{ $root.Release.Namespace }}
  {{- end }}
  labels:
    {{- include "mcptasks.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ $component }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $role.kind }}
  name: {{ $name }}
subjects:
- kind: ServiceAccount
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace }}
{{- end }}
{{- end -}}
