import { isSecret, redisEnv } from '@relay/config';
import { IngressEnv, OperationsEnv, WorkerEnv } from '@relay/settings';
import type { z } from 'zod';
import { enumOf, meaningOf, typeOf } from './field-facts.js';

type Schema = Readonly<Record<string, unknown>>;

/** What a process of the chart reads. */
const VARIABLES: Readonly<Record<string, z.ZodType>> = {
  ...IngressEnv.shape,
  ...WorkerEnv.shape,
  ...OperationsEnv.shape,
};
/** Set by the chart from other values: two places for one setting would contradict each other. */
const FROM_OTHER_VALUES = new Set(
  'PORT OPERATIONS_PORT HEALTH_PORT KAFKA_BROKERS KAFKA_SSL KAFKA_SASL_MECHANISM KAFKA_SASL_USERNAME KAFKA_SASL_TOKEN_URL KAFKA_SASL_SCOPE KAFKA_SASL_AWS_REGION REDIS_SENTINELS REDIS_SENTINEL_NAME REDIS_CLUSTER_NODES REDIS_SHARDS'.split(
    ' ',
  ),
);
/** Secrets that come from Secrets of their own. */
const FROM_OTHER_SECRETS = /^(?:KAFKA_|REDIS_URL$)/;

const text: Schema = { type: 'string' };
const filled: Schema = { type: 'string', minLength: 1 };
const flag: Schema = { type: 'boolean' };
const open: Schema = { type: 'object' };
const strings: Schema = { type: 'object', additionalProperties: text };
/** Of objects: the selectors of the chart would follow if a label of its own could be replaced. */
const labels: Schema = {
  ...strings,
  propertyNames: { not: { pattern: '^app\\.kubernetes\\.io/(?:name|instance|component)$' } },
};
const objects: Schema = { type: 'array', items: open };
const count = (minimum: number): Schema => ({ type: 'integer', minimum });
const closed = (properties: Record<string, Schema>, required: readonly string[] = []): Schema => ({
  type: 'object',
  additionalProperties: false,
  properties,
  ...(required.length === 0 ? {} : { required }),
});
const listOf = (items: Schema): Schema => ({ type: 'array', items });
/** Other charts name them by plain text, Kubernetes by an object. */
const pullSecrets: Schema = listOf({ anyOf: [filled, closed({ name: filled }, ['name'])] });
const hostAndPort: Schema = { type: 'string', pattern: '^[^,\\s:]+:\\d{1,5}$' };

/** Ways from outside to a Service. */
const door = { enabled: flag, className: text, annotations: strings, host: text, tlsSecret: text };
const route = { enabled: flag, parentRefs: objects, hostnames: listOf(filled) };

/** On which nodes a pod runs. */
const scheduling = { nodeSelector: strings, tolerations: objects, affinity: open, priorityClassName: text };

const workload = (more: Record<string, Schema> = {}): Schema =>
  closed({
    enabled: flag,
    replicaCount: count(0),
    resources: open,
    extraEnv: objects,
    extraEnvFrom: objects,
    extraVolumes: objects,
    extraVolumeMounts: objects,
    podLabels: labels,
    podAnnotations: strings,
    podSecurityContext: open,
    securityContext: open,
    startupProbe: open,
    livenessProbe: open,
    readinessProbe: open,
    terminationGracePeriodSeconds: count(45),
    preStopSeconds: { type: 'integer', minimum: 0, maximum: 30 },
    lifecycle: open,
    pdb: closed({ enabled: flag, maxUnavailable: { type: ['integer', 'string'] } }),
    topologySpreadConstraints: objects,
    ...scheduling,
    ...more,
  });

/** charts/partner-relay/values.schema.json: the values tree, with the settings as the processes parse them. */
export function valuesSchema(): Schema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Values of the chart partner-relay',
    ...closed(
      {
        // Open: a chart that this one is part of may say more to all of its parts.
        global: { type: 'object', properties: { imageRegistry: text, imagePullSecrets: pullSecrets } },
        // Not read by the chart: a chart that this one is part of has its `condition` here.
        enabled: flag,
        nameOverride: text,
        fullnameOverride: text,
        commonLabels: labels,
        podLabels: labels,
        podAnnotations: strings,
        hookPods: closed({ labels, annotations: strings, serviceAccountName: text, resources: open, ...scheduling }),
        image: closed({
          registry: text,
          repository: filled,
          tag: { type: 'string', not: { const: 'latest' } },
          digest: { type: 'string', pattern: '^(sha256:[0-9a-f]{64})?$' },
          pullPolicy: { enum: ['Always', 'IfNotPresent', 'Never'] },
        }),
        imagePullSecrets: pullSecrets,
        serviceAccount: closed({ create: flag, name: text, annotations: strings, automountServiceAccountToken: flag }),
        podSecurityContext: open,
        securityContext: open,
        config: closed(settings()),
        // Operations checks the definitions.
        eventTypes: { type: ['object', 'string'] },
        pruneEventTypes: flag,
        existingSecret: text, // a template says when it may be empty
        secretKeys: closed(secretKeys()),
        caBundle: closed({ configMap: text, key: filled }),
        kafka: closed({
          brokers: listOf(hostAndPort),
          tls: closed({ enabled: flag, existingSecret: text, caKey: filled, certKey: text, keyKey: text }),
          sasl: closed({
            mechanism: { enum: ['', ...(enumOf(VARIABLES['KAFKA_SASL_MECHANISM']) ?? [])] },
            username: text,
            existingSecret: text,
            passwordKey: filled,
            tokenUrl: { type: 'string', pattern: '^(https://[^@\\s]+)?$' },
            scope: text,
            awsRegion: { type: 'string', pattern: '^([a-z]{2}(-[a-z]+)+-\\d)?$' },
          }),
          createTopics: closed({ enabled: flag }),
        }),
        redis: closed({
          url: { type: 'string', pattern: '^(rediss?://[^@]+)?$' },
          existingSecret: text,
          urlKey: filled,
          sentinel: closed({ nodes: listOf(hostAndPort), name: filled }),
          cluster: closed({ nodes: listOf(hostAndPort) }),
          shards: typeOf(redisEnv.REDIS_SHARDS),
        }),
        ingressApp: workload({
          autoscaling: closed({
            enabled: flag,
            minReplicas: count(1),
            maxReplicas: count(1),
            behavior: open,
            targetCPUUtilizationPercentage: { type: 'integer', minimum: 1, maximum: 100 },
          }),
        }),
        worker: workload({
          keda: closed({
            enabled: flag,
            minReplicaCount: count(1), // retries wait in Redis, where no lag is seen
            maxReplicaCount: count(1),
            behavior: open,
            sasl: closed({ existingSecret: text, usernameKey: filled, passwordKey: filled }),
            authenticationRef: text,
            kafkaMetadata: strings,
            lagThreshold: { type: 'string', pattern: '^\\d+$' },
            prometheusAddress: text,
            waitingJobsThreshold: { type: 'string', pattern: '^\\d+$' },
          }),
        }),
        operations: workload({ search: closed({ enabled: flag, sizeLimit: text }) }),
        service: closed({
          type: { enum: ['ClusterIP', 'NodePort', 'LoadBalancer'] },
          port: { type: 'integer', minimum: 1, maximum: 65_535 },
          annotations: strings,
        }),
        ingress: closed(door),
        httpRoute: closed(route),
        operationsIngress: closed(door),
        operationsHttpRoute: closed(route),
        networkPolicy: closed({
          enabled: flag,
          ingressFrom: objects,
          operationsFrom: objects,
          metricsFrom: objects,
          dnsTo: { ...objects, minItems: 1 },
          dnsPorts: { ...listOf(count(1)), minItems: 1 },
          storesTo: objects,
          storePorts: listOf(count(1)),
          extraEgress: objects,
          telemetry: closed({ to: objects, ports: listOf(count(1)) }),
          tokens: closed({ to: objects, ports: listOf(count(1)) }),
          identityProvider: closed({ to: objects, ports: listOf(count(1)) }),
          webhooks: closed({
            ports: listOf(count(1)),
            cidr: filled,
            except: listOf(filled),
            cidr6: text,
            except6: listOf(filled),
          }),
        }),
        metrics: closed({
          series: text,
          serviceMonitor: closed({ enabled: flag, interval: filled, labels: strings }),
          prometheusRule: closed({
            enabled: flag,
            labels: strings,
            runbooks: { type: 'string', pattern: '^(https?://[^#]+)?$' },
          }),
          dashboard: closed({ enabled: flag, labels: strings }),
        }),
        stores: closed({
          enabled: flag,
          storageClass: text,
          kafka: closed({ image: filled, size: filled, resources: open }),
          valkey: closed({ image: filled, size: filled, maxmemory: filled, resources: open }),
        }),
        development: closed({ enabled: flag }),
        tests: closed({ enabled: flag, endpointUrl: { type: 'string', pattern: '^(https?://.+)?$' } }),
        extraObjects: objects,
      },
      ['existingSecret'],
    ),
  };
}

function settings(): Record<string, Schema> {
  const entries = Object.entries(VARIABLES).filter(([name, field]) => !isSecret(field) && !FROM_OTHER_VALUES.has(name));
  return Object.fromEntries(
    entries.map(([name, field]) => [name, { description: meaningOf(field), ...typeOf(field) }]),
  );
}

function secretKeys(): Record<string, Schema> {
  const names = Object.keys(VARIABLES).filter((name) => {
    const field = VARIABLES[name];
    return field !== undefined && isSecret(field) && !FROM_OTHER_SECRETS.test(name);
  });
  return Object.fromEntries(names.map((name) => [name, filled]));
}
