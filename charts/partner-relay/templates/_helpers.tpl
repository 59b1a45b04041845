{{- define "relay.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "relay.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* A version as the value of a label, which has no plus. */}}
{{- define "relay.label" -}}
{{- . | replace "+" "_" | trunc 63 | trimAll "-_." | quote -}}
{{- end -}}

{{- define "relay.labels" -}}
{{ include "relay.selector" . }}
app.kubernetes.io/version: {{ include "relay.label" .Chart.AppVersion }}
app.kubernetes.io/part-of: partner-relay
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ include "relay.label" (printf "%s-%s" .Chart.Name .Chart.Version) }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Labels of the pods of a component, of a list: the root, the component, its own labels. The chart's win, since selectors use them. */}}
{{- define "relay.podLabels" -}}
{{- $labels := include "relay.labels" (index . 0) | fromYaml -}}
{{- $_ := set $labels "app.kubernetes.io/component" (index . 1) -}}
{{- merge $labels (index . 2) (index . 0).Values.podLabels | toYaml -}}
{{- end -}}

{{/* Annotations of the pods of a role, of a list: the root, the annotations that the chart needs, those of the role. */}}
{{- define "relay.podAnnotations" -}}
{{- with merge (index . 1) (index . 2) (index . 0).Values.podAnnotations -}}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{/* Name of an image with its registry, of a list: the chart's values, the name, the registry unless all images come from one. */}}
{{- define "relay.fromRegistry" -}}
{{- $registry := default (index . 2) (index . 0).global.imageRegistry | trimSuffix "/" -}}
{{- if $registry }}{{ $registry }}/{{ end }}{{ index . 1 -}}
{{- end -}}

{{- define "relay.image" -}}
{{- $image := .Values.image -}}
{{- $version := ternary (printf "@%s" $image.digest) (printf ":%s" (default .Chart.AppVersion $image.tag)) (ne $image.digest "") -}}
{{- include "relay.fromRegistry" (list .Values (printf "%s%s" $image.repository $version) $image.registry) -}}
{{- end -}}

{{/* The member of a pod's spec; nothing where no Secret is named. Other charts name them by plain text. */}}
{{- define "relay.imagePullSecrets" -}}
{{- $names := list -}}
{{- range concat .Values.global.imagePullSecrets .Values.imagePullSecrets -}}
{{- $names = append $names (kindIs "string" . | ternary . (get (kindIs "map" . | ternary . dict) "name")) -}}
{{- end -}}
{{- with uniq $names -}}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* Nodes on which the pods run, of the values of a role or of the hooks. */}}
{{- define "relay.scheduling" -}}
{{- range $name := list "nodeSelector" "tolerations" "affinity" "priorityClassName" }}
{{- with get $ $name }}
{{ dict $name . | toYaml }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "relay.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "relay.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The settings that are no secrets, as YAML of a map: the user's, and those that follow from other values. */}}
{{- define "relay.settings" -}}
{{- $settings := dict -}}
{{- range $name, $value := .Values.config -}}
{{- $_ := set $settings $name (ternary (toJson $value) (toString $value) (kindIs "map" $value)) -}}
{{- /* Helm reads every number as a float: unless it is written as an integer, 1000000 becomes 1e+06. */ -}}
{{- if kindIs "float64" $value -}}
{{- if eq $value (floor $value) -}}
{{- $_ := set $settings $name (printf "%d" (int64 $value)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $_ := set $settings "KAFKA_BROKERS" (join "," .Values.kafka.brokers) -}}
{{- if include "relay.ownStores" . -}}
{{- $_ := set $settings "KAFKA_BROKERS" (printf "%s-kafka:9092" (include "relay.fullname" .)) -}}
{{- $_ := set $settings "KAFKA_TOPIC_REPLICATION" "1" -}}
{{- $_ := set $settings "RELAY_ENV" "development" -}}
{{- $_ := set $settings "REDIS_URL" (printf "redis://%s-valkey:6379" (include "relay.fullname" .)) -}}
{{- end -}}
{{- if .Values.development.enabled -}}
{{- $_ := set $settings "EGRESS_ALLOW_HTTP" "true" -}}
{{- $_ := set $settings "EGRESS_ALLOW_CIDRS" "10.0.0.0/8,172.16.0.0/12,192.168.0.0/16" -}}
{{- end -}}
{{- if .Values.kafka.tls.enabled -}}
{{- $_ := set $settings "KAFKA_SSL" "true" -}}
{{- end -}}
{{- with .Values.kafka.sasl.mechanism -}}
{{- $_ := set $settings "KAFKA_SASL_MECHANISM" . -}}
{{- end -}}
{{- with .Values.kafka.sasl.username -}}
{{- $_ := set $settings "KAFKA_SASL_USERNAME" . -}}
{{- end -}}
{{- with .Values.kafka.sasl.tokenUrl -}}
{{- $_ := set $settings "KAFKA_SASL_TOKEN_URL" . -}}
{{- end -}}
{{- with .Values.kafka.sasl.scope -}}
{{- $_ := set $settings "KAFKA_SASL_SCOPE" . -}}
{{- end -}}
{{- with .Values.kafka.sasl.awsRegion -}}
{{- $_ := set $settings "KAFKA_SASL_AWS_REGION" . -}}
{{- end -}}
{{- if include "relay.ownStores" . -}}
{{- else if .Values.redis.sentinel.nodes -}}
{{- $_ := set $settings "REDIS_SENTINELS" (join "," .Values.redis.sentinel.nodes) -}}
{{- $_ := set $settings "REDIS_SENTINEL_NAME" .Values.redis.sentinel.name -}}
{{- else if .Values.redis.cluster.nodes -}}
{{- $_ := set $settings "REDIS_CLUSTER_NODES" (join "," .Values.redis.cluster.nodes) -}}
{{- else if .Values.redis.url -}}
{{- $_ := set $settings "REDIS_URL" .Values.redis.url -}}
{{- end -}}
{{- if ne (int .Values.redis.shards) 1 -}}
{{- $_ := set $settings "REDIS_SHARDS" (toString .Values.redis.shards) -}}
{{- end -}}
{{- $_ := set $settings "PORT" "3000" -}}
{{- $_ := set $settings "OPERATIONS_PORT" "3100" -}}
{{- $_ := set $settings "HEALTH_PORT" "3200" -}}
{{- toYaml $settings -}}
{{- end -}}

{{/* The secret files: one for each variable, from whichever Secret has it, as YAML of a list of {variable, secret, key}. */}}
{{- define "relay.secretFiles" -}}
{{- $own := include "relay.keysSecret" . -}}
{{- range $name := list "ENCRYPTION_KEYS" "JWT_PRIVATE_KEYS" }}
- { variable: {{ $name }}, secret: {{ $own | quote }}, key: {{ default $name (get $.Values.secretKeys $name) | quote }} }
{{- end }}
{{- range $name, $key := omit .Values.secretKeys "ENCRYPTION_KEYS" "JWT_PRIVATE_KEYS" }}
- { variable: {{ $name }}, secret: {{ $own | quote }}, key: {{ $key | quote }} }
{{- end }}
{{- with .Values.kafka.tls }}
{{- if .existingSecret }}
- { variable: KAFKA_SSL_CA, secret: {{ .existingSecret | quote }}, key: {{ .caKey | quote }} }
{{- if .certKey }}
- { variable: KAFKA_SSL_CERT, secret: {{ .existingSecret | quote }}, key: {{ .certKey | quote }} }
{{- end }}
{{- if .keyKey }}
- { variable: KAFKA_SSL_KEY, secret: {{ .existingSecret | quote }}, key: {{ .keyKey | quote }} }
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.kafka.sasl }}
{{- if .existingSecret }}
- { variable: KAFKA_SASL_PASSWORD, secret: {{ .existingSecret | quote }}, key: {{ .passwordKey | quote }} }
{{- end }}
{{- end }}
{{- if and .Values.redis.existingSecret (not (include "relay.ownStores" .)) }}
- { variable: REDIS_URL, secret: {{ .Values.redis.existingSecret | quote }}, key: {{ .Values.redis.urlKey | quote }} }
{{- end }}
{{- end -}}

{{/* Variables that name mounted files, without those that the role has itself, of a list: the root, the role's own variables. */}}
{{- define "relay.fileEnv" -}}
{{- $own := list -}}
{{- range index . 1 -}}
{{- $own = append $own (trimSuffix "_FILE" .name) -}}
{{- end -}}
{{- range include "relay.secretFiles" (index . 0) | fromYamlArray }}
{{- if not (has .variable $own) }}
- name: {{ .variable }}_FILE
  value: /etc/relay/secrets/{{ .variable }}
{{- end }}
{{- end }}
{{- if (index . 0).Values.caBundle.configMap }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/relay/authorities/ca.crt
{{- end }}
{{- end -}}

{{- define "relay.volumes" -}}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      {{- range include "relay.secretFiles" . | fromYamlArray }}
      - secret:
          name: {{ .secret | quote }}
          items: [{ key: {{ .key | quote }}, path: {{ .variable }} }]
      {{- end }}
- name: tmp
  emptyDir: { sizeLimit: 64Mi }
{{- with .Values.caBundle }}
{{- if .configMap }}
- name: authorities
  configMap:
    name: {{ .configMap | quote }}
    items: [{ key: {{ .key | quote }}, path: ca.crt }]
{{- end }}
{{- end }}
{{- end -}}

{{- define "relay.volumeMounts" -}}
- { name: secrets, mountPath: /etc/relay/secrets, readOnly: true }
- { name: tmp, mountPath: /tmp }
{{- if .Values.caBundle.configMap }}
- { name: authorities, mountPath: /etc/relay/authorities, readOnly: true }
{{- end }}
{{- end -}}

{{/* Security context, of a list: that of all pods or containers, and that of a role, whose members replace the first's. */}}
{{- define "relay.security" -}}
{{- mergeOverwrite (deepCopy (default dict (index . 0))) (default dict (index . 1)) | toYaml -}}
{{- end -}}

{{/* A Job's or test's pod runs before or beside the ConfigMap, so its settings stand in it. */}}
{{- define "relay.inlineEnv" -}}
{{- range $name, $value := include "relay.settings" . | fromYaml }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{ include "relay.fileEnv" (list . list) }}
{{- end -}}

{{/* Whether the connections to Kafka use TLS. */}}
{{- define "relay.kafkaTls" -}}
{{- if or .Values.kafka.tls.enabled .Values.kafka.tls.existingSecret }}true{{ end -}}
{{- end -}}

{{/* Label matchers that tell the metrics of this release from those of another in the same Prometheus. */}}
{{- define "relay.series" -}}
{{- default (printf "namespace=%q,service=%q" .Release.Namespace (printf "%s-metrics" (include "relay.fullname" .))) .Values.metrics.series -}}
{{- end -}}

{{/* A query of this release's metrics alone, of a list: the root, the query. */}}
{{- define "relay.query" -}}
{{- $matchers := include "relay.series" (index . 0) | replace "$" "$$" -}}
{{- /* Metrics that are selected by labels already have two pairs of braces then. */ -}}
{{- regexReplaceAll "\\b((?:relay|http_server)_\\w+)\\b" (index . 1) (printf "${1}{%s}" $matchers) | replace "}{" "," -}}
{{- end -}}

{{/* Whether Kafka and Redis come with the release. */}}
{{- define "relay.ownStores" -}}
{{- if or .Values.stores.enabled .Values.development.enabled }}true{{ end -}}
{{- end -}}

{{/* Name of the Secret with the two keys. */}}
{{- define "relay.keysSecret" -}}
{{- default (printf "%s-keys" (include "relay.fullname" .)) .Values.existingSecret -}}
{{- end -}}

{{/* With its own Kafka, which is not there before the chart is, the processes make their topics themselves. */}}
{{- define "relay.makesTopics" -}}
{{- if and .Values.kafka.createTopics.enabled (not (include "relay.ownStores" .)) }}true{{ end -}}
{{- end -}}

{{- define "relay.ingressUrl" -}}
http://{{ include "relay.fullname" . }}-ingress:{{ .Values.service.port }}
{{- end -}}

{{- define "relay.wantsTest" -}}
{{- if and .Values.tests.enabled .Values.ingressApp.enabled .Values.worker.enabled }}true{{ end -}}
{{- end -}}

{{/* Address that gets the envelope of helm test; empty: there is no test. A Service has a private address, no endpoint but in development. */}}
{{- define "relay.testEndpoint" -}}
{{- if include "relay.wantsTest" . -}}
{{- $own := ternary (include "relay.ingressUrl" .) .Values.config.PUBLIC_URL .Values.development.enabled -}}
{{- if .Values.tests.endpointUrl -}}
{{- .Values.tests.endpointUrl -}}
{{- else if $own -}}
{{- trimSuffix "/" $own }}/deliveries
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "relay.validate" -}}
{{- $name := include "relay.fullname" . -}}
{{- if not (regexMatch "^[a-z][-a-z0-9]*$" $name) -}}{{- fail (printf "%s cannot be the name of a Service, which begins with a letter and has letters, digits and hyphens: set fullnameOverride, or name the release otherwise" $name) -}}{{- end -}}
{{- if and (gt (int .Values.redis.shards) 1) (or (include "relay.ownStores" .) (not .Values.redis.cluster.nodes)) -}}{{- fail "redis.shards divides the state among the nodes of redis.cluster.nodes, which is empty or not used: one server gains nothing by it" -}}{{- end -}}
{{- if .Values.stores.enabled -}}
{{- if or .Values.kafka.brokers .Values.redis.url .Values.redis.existingSecret .Values.redis.sentinel.nodes .Values.redis.cluster.nodes -}}{{- fail "stores.enabled brings Kafka and Redis: empty kafka.brokers and redis, or disable stores" -}}{{- end -}}
{{- end -}}
{{- if not (include "relay.ownStores" .) -}}
{{- if not .Values.existingSecret -}}{{- fail "existingSecret is empty: name the Secret with ENCRYPTION_KEYS and JWT_PRIVATE_KEYS, or set stores.enabled" -}}{{- end -}}
{{- if not .Values.kafka.brokers -}}{{- fail "kafka.brokers is empty: name the brokers as host:port, or set stores.enabled" -}}{{- end -}}
{{- $ways := 0 -}}
{{- range list .Values.redis.url .Values.redis.existingSecret .Values.redis.sentinel.nodes .Values.redis.cluster.nodes -}}{{- if . -}}{{- $ways = add1 $ways -}}{{- end -}}{{- end -}}
{{- if ne (int $ways) 1 -}}{{- fail "say where Redis is, one way: redis.existingSecret, redis.url, redis.sentinel.nodes or redis.cluster.nodes" -}}{{- end -}}
{{- end -}}
{{- with .Values.kafka.sasl -}}
{{- $isBearer := eq .mechanism "oauthbearer" -}}
{{- if and $isBearer .awsRegion -}}
{{- if or .username .existingSecret .tokenUrl .scope -}}{{- fail "kafka.sasl: beside awsRegion, username, existingSecret, tokenUrl and scope stay empty" -}}{{- end -}}
{{- else if not (has (compact (list .mechanism .username .existingSecret) | len) (list 0 3)) -}}{{- fail "kafka.sasl: mechanism, username and existingSecret go together" -}}
{{- else if and $isBearer (not .tokenUrl) -}}{{- fail "kafka.sasl: oauthbearer takes tokens from tokenUrl or awsRegion" -}}
{{- else if and (or .tokenUrl .scope .awsRegion) (not $isBearer) -}}{{- fail "kafka.sasl: tokenUrl, scope and awsRegion are for the mechanism oauthbearer" -}}
{{- end -}}
{{- if and $isBearer $.Values.networkPolicy.enabled (not $.Values.networkPolicy.tokens.to) -}}{{- fail "networkPolicy.tokens.to is empty: name in it what gives the tokens of kafka.sasl, or no pod reaches it" -}}{{- end -}}
{{- if and $isBearer $.Values.worker.keda.enabled (not $.Values.worker.keda.authenticationRef) -}}{{- fail "worker.keda.authenticationRef is empty: KEDA's login by oauthbearer is yours to name" -}}{{- end -}}
{{- end -}}
{{- with .Values.kafka.tls -}}
{{- if ne (empty .certKey) (empty .keyKey) -}}{{- fail "kafka.tls: certKey and keyKey go together" -}}{{- end -}}
{{- end -}}
{{- if and (include "relay.ownStores" .) (or (include "relay.kafkaTls" .) .Values.kafka.sasl.mechanism) -}}{{- fail "the chart's own Kafka has no TLS and no logins: empty kafka.tls and kafka.sasl" -}}{{- end -}}
{{- with .Values.networkPolicy -}}
{{- if .enabled -}}
{{- if not (include "relay.ownStores" $) -}}
{{- range concat $.Values.kafka.brokers $.Values.redis.sentinel.nodes $.Values.redis.cluster.nodes (list $.Values.redis.url) -}}
{{- $port := regexFind ":\\d+(/|$)" . | trimPrefix ":" | trimSuffix "/" -}}
{{- if and $port (not (has $port (toStrings $.Values.networkPolicy.storePorts))) -}}{{- fail (printf "networkPolicy.storePorts lacks %s, the port of %s" $port .) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- range splitList "," (default "" $.Values.config.EGRESS_PORTS) -}}
{{- $port := trim . -}}
{{- if and $port (not (has $port (toStrings $.Values.networkPolicy.webhooks.ports))) -}}{{- fail (printf "networkPolicy.webhooks.ports lacks %s of config.EGRESS_PORTS" $port) -}}{{- end -}}
{{- end -}}
{{- if and $.Values.config.OIDC_ISSUER (not .identityProvider.to) -}}{{- fail "networkPolicy.identityProvider.to is empty: name the provider of config.OIDC_ISSUER in it, or operations does not reach it" -}}{{- end -}}
{{- if not .extraEgress -}}
{{- with $.Values.config -}}
{{- if and .EGRESS_ALLOW_CIDRS (not $.Values.development.enabled) -}}{{- fail "networkPolicy.extraEgress is empty: name in it what config.EGRESS_ALLOW_CIDRS opens, or no pod reaches it" -}}{{- end -}}
{{- if and (or .OTEL_EXPORTER_OTLP_ENDPOINT .OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) (not $.Values.networkPolicy.telemetry.to) -}}{{- fail "networkPolicy.telemetry.to is empty: name the collector of config.OTEL_EXPORTER_OTLP_ENDPOINT in it, or no span reaches it" -}}{{- end -}}
{{- end -}}
{{- if $.Values.secretKeys.EGRESS_PROXY_URL -}}{{- fail "networkPolicy.extraEgress is empty: name the proxy of secretKeys.EGRESS_PROXY_URL in it, or no pod reaches it" -}}{{- end -}}
{{- end -}}
{{- /* Compares the lengths of the prefixes alone. The API server refuses the whole policy unless each is within its CIDR. */ -}}
{{- range $six := list "" "6" -}}
{{- $cidr := get $.Values.networkPolicy.webhooks (print "cidr" $six) -}}
{{- range get $.Values.networkPolicy.webhooks (print "except" $six) -}}
{{- if and $cidr (le (int (regexFind "\\d+$" .)) (int (regexFind "\\d+$" $cidr))) -}}{{- fail (printf "networkPolicy.webhooks.except%s: %s is not within cidr%s %s" $six . $six $cidr) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $name := list "ingressApp" "worker" "operations" -}}
{{- $app := index $.Values $name -}}
{{- $preStop := max (int $app.preStopSeconds) (int ((($app.lifecycle).preStop).sleep).seconds) -}}
{{- if lt (int $app.terminationGracePeriodSeconds) (add $preStop 30 | int) -}}{{- fail (printf "%s.terminationGracePeriodSeconds must be 30 more than preStopSeconds, and than lifecycle.preStop sleeps: a stop takes up to 25 s" $name) -}}{{- end -}}
{{- end -}}
{{- with .Values.ingressApp.autoscaling -}}
{{- if gt (int .minReplicas) (int .maxReplicas) -}}{{- fail "ingressApp.autoscaling.minReplicas is more than maxReplicas" -}}{{- end -}}
{{- end -}}
{{- with .Values.worker.keda -}}
{{- if and .sasl.existingSecret (not $.Values.kafka.sasl.mechanism) -}}{{- fail "worker.keda.sasl.existingSecret is a login for kafka.sasl.mechanism, which is empty" -}}{{- end -}}
{{- if gt (int .minReplicaCount) (int .maxReplicaCount) -}}{{- fail "worker.keda.minReplicaCount is more than maxReplicaCount" -}}{{- end -}}
{{- end -}}
{{- if and (or .Values.ingress.enabled .Values.httpRoute.enabled) (not .Values.ingressApp.enabled) -}}{{- fail "ingress and httpRoute lead to the ingress app: set ingressApp.enabled, or turn them off" -}}{{- end -}}
{{- if and (or .Values.operationsIngress.enabled .Values.operationsHttpRoute.enabled) (not .Values.operations.enabled) -}}{{- fail "operationsIngress and operationsHttpRoute lead to operations: set operations.enabled, or turn them off" -}}{{- end -}}
{{- if and .Values.operationsIngress.enabled (not .Values.operationsIngress.host) -}}{{- fail "operationsIngress.host is empty: without one it would take the requests of every other host" -}}{{- end -}}
{{- if and .Values.operationsHttpRoute.enabled (not .Values.operationsHttpRoute.hostnames) -}}{{- fail "operationsHttpRoute.hostnames is empty: without one it would take the requests of every other host" -}}{{- end -}}
{{- if and (or .Values.operationsIngress.enabled .Values.operationsHttpRoute.enabled) .Values.networkPolicy.enabled (not .Values.networkPolicy.operationsFrom) -}}{{- fail "networkPolicy.operationsFrom is empty: name the gateway's pods in it, or nothing reaches operations" -}}{{- end -}}
{{- if and .Values.eventTypes (not .Values.operations.enabled) -}}{{- fail "eventTypes are applied through operations: set operations.enabled, or leave eventTypes empty" -}}{{- end -}}
{{- range $name := list "httpRoute" "operationsHttpRoute" -}}
{{- $route := index $.Values $name -}}
{{- if and $route.enabled (not $route.parentRefs) -}}{{- fail (printf "%s.parentRefs is empty: name a gateway in it, or nothing leads to the relay" $name) -}}{{- end -}}
{{- end -}}
{{- end -}}
