{{- define "attr2hbase.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name }}{{ end }}
{{- end }}
{{- define "attr2hbase.selector" -}}
app.kubernetes.io/name: {{ include "attr2hbase.name" . }}
{{- end }}
