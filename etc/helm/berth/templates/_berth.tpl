{{- /* The image of Berth. */ -}}
{{- define "berth.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "berth.haproxyConfig" -}}
{{ .Values.sshBalancer.haproxyConfig | default (.Files.Get "files/haproxy.cfg") }}
{{- end -}}

{{- /* With a hash of the content, as Kustomize's configMapGenerator makes it. */ -}}
{{- define "berth.haproxyConfigMap" -}}
{{- $data := dict "haproxy.cfg" (include "berth.haproxyConfig" .) -}}
{{- $hash := dict "kind" "ConfigMap" "name" "" "data" $data | toJson | sha256sum | trunc 10 -}}
haproxy-{{ $hash | replace "0" "g" | replace "1" "h" | replace "3" "k" | replace "a" "m" | replace "e" "t" }}
{{- end -}}

{{- /* What the containers of `helm test` have in common, and their pods. */ -}}
{{- define "berth.testContainer" -}}
image: {{ include "berth.image" . }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{- define "berth.testPod" -}}
restartPolicy: Never
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65534
  runAsGroup: 65534
  seccompProfile:
    type: RuntimeDefault
{{- end -}}
