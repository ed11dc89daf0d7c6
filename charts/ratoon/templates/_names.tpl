{{/* Names of the chart's objects. Those of one release begin with its name. */}}
{{- define "ratoon.fullname" -}}
{{- if contains "ratoon" .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-ratoon" (.Release.Name | trunc 33 | trimSuffix "-") -}}
{{- end -}}
{{- end }}

{{- define "ratoon.coordinator" -}}
{{ .Release.Name | trunc 46 | trimSuffix "-" }}-coordinator
{{- end }}

{{/* "true" if members call over TLS; empty if not, and in values of a release without TLS. */}}
{{- define "ratoon.tls" -}}
{{- if (.Values.coordinator.tls).enabled }}true{{ end }}
{{- end }}

{{/* The Secret in which the operator keeps the certificate that it makes. */}}
{{- define "ratoon.certificate" -}}
{{ include "ratoon.fullname" . }}-certificate
{{- end }}

{{/* A Secret with a certificate that others make; empty if the operator makes it, or without TLS. */}}
{{- define "ratoon.mountedSecret" -}}
{{- if include "ratoon.tls" . }}{{ .Values.coordinator.tls.existingSecret }}{{ end }}
{{- end }}

{{/* The name that members expect in the certificate, for any address that they call. */}}
{{- define "ratoon.serverName" -}}
{{- .Values.coordinator.tls.serverName | default (printf "%s.%s.svc" (include "ratoon.coordinator" .) .Release.Namespace) -}}
{{- end }}

{{/* The name of objects without a namespace: two releases of one name in two namespaces do not collide. */}}
{{- define "ratoon.clusterName" -}}
{{ .Release.Namespace }}-{{ include "ratoon.fullname" . }}
{{- end }}

{{/* The image by its digest if there is one, since a tag can be moved. */}}
{{- define "ratoon.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository .Values.image.tag -}}
{{- end -}}
{{- end }}

{{/* Helm removes a value that is null. Values of a release before there were contexts lack them, too. Those also lack
     `monitors`, which came with the contexts: they get the default contexts. */}}
{{- define "ratoon.podSecurityContext" -}}
{{- if .Values.podSecurityContext }}
{{- toYaml .Values.podSecurityContext }}
{{- else if not (hasKey .Values "monitors") -}}
runAsNonRoot: true
seccompProfile: {type: RuntimeDefault}
{{- end }}
{{- end }}

{{- define "ratoon.securityContext" -}}
{{- if .Values.securityContext }}
{{- toYaml .Values.securityContext }}
{{- else if not (hasKey .Values "monitors") -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}
{{- end }}

{{/* extraArgs may not repeat arguments of the chart: probes, Services, rights and certificates depend on these. */}}
{{- define "ratoon.refuseOwnArgument" -}}
{{- if regexMatch "^--((coordinator|metrics|probe)-port|(all-)?namespaces?|(no-)?leader-elect|lease-name|advertise-url|launcher-(image|pull-policy)|check-installation|notices|processes-per-namespace|tls-.*)(=|$)" . -}}
{{- fail (printf "extraArgs has %s, which the chart says itself: remove it. watchNamespace, coordinator.advertiseUrl, coordinator.tls, notices and processesPerNamespace can be set; ports cannot" .) -}}
{{- end -}}
{{- end }}

{{- define "ratoon.refuseOwnVariable" -}}
{{- if hasPrefix "RATOON_" . -}}
{{- fail (printf "extraEnv has %s, and names that begin with RATOON_ are set by the chart: remove it" .) -}}
{{- end -}}
{{- end }}

{{/* The namespaces whose members get a policy, separated by blanks. */}}
{{- define "ratoon.memberNamespaces" -}}
{{- join " " (.Values.networkPolicy.memberNamespaces | default (compact (list .Values.watchNamespace))) -}}
{{- end }}

{{/* Metadata of an object that only `helm test` makes. */}}
{{- define "ratoon.testMetadata" }}
metadata:
  name: {{ .name }}
  namespace: {{ .top.Release.Namespace }}
  labels:
    {{- include "ratoon.labels" .top | nindent 4 }}
    app.kubernetes.io/component: test
  annotations:
    helm.sh/hook: test
    helm.sh/hook-weight: {{ .weight | quote }}
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}

{{- define "ratoon.selector" -}}
app.kubernetes.io/name: ratoon
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end }}

{{- define "ratoon.labels" -}}
app.kubernetes.io/name: ratoon
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}
