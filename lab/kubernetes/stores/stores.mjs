// The stores of a relay in production: three brokers, a Redis with a replica and three sentinels, TLS and logins; and beside them,
// for the chart's value files, a Redis, sentinels and a Redis Cluster without either.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const STORES = 'stores';
export const USER = 'relay';
/** The name that the sentinels know the primary by. */
export const PRIMARY = 'relay';
const word = () => randomBytes(18).toString('base64url');
const script = (name) => readFileSync(join(import.meta.dirname, name), 'utf8');

/** The full name of a pod of a set. */
export const hostOf = (set, number) => `${set}-${number}.${set}.${STORES}.svc.cluster.local`;
export const hostsOf = (set, count, port) => Array.from({ length: count }, (_, at) => `${hostOf(set, at)}:${port}`);

/** The names in their certificate, including those that the value files use. */
export const certified = [
  'kafka',
  ...['kafka', 'redis', 'sentinel'].map((set) => `*.${set}.${STORES}.svc.cluster.local`),
];

export const passwords = () => ({
  KAFKA_PASSWORD: word(),
  REDIS_PASSWORD: word(),
  ADMIN_PASSWORD: word(),
  SENTINEL_PASSWORD: word(),
});

/** @param data folder of the node where the sets keep what they write, so that a pod's end loses nothing */
export function stores({ images, tls, ca, logins, data }) {
  const kafka = images.kafka.reference;
  const redis = images.valkey.reference;
  const set = (name, replicas, image, program, port, cpu) => setOf({ name, replicas, image, program, port, cpu, data });
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: STORES } },
    object('Secret', 'logins', { stringData: logins }),
    object('Secret', 'tls', { stringData: { 'tls.key': tls.key, 'tls.crt': tls.certificate, 'ca.crt': ca } }),
    object('ConfigMap', 'programs', {
      data: Object.fromEntries(['kafka.sh', 'redis.sh', 'sentinel.sh', 'plain.sh'].map((name) => [name, script(name)])),
    }),
    ...set('kafka', 3, kafka, 'kafka.sh', 9094, '100m'),
    ...set('redis', 2, redis, 'redis.sh', 6380, '50m'),
    ...set('sentinel', 3, redis, 'sentinel.sh', 26379, '5m'),
    ...set('plain', 1, redis, 'plain.sh', 6379, '20m'),
    ...set('s', 3, redis, 'plain.sh', 26379, '5m'),
    ...set('c', 3, redis, 'plain.sh', 6379, '10m'),
  ];
}

const object = (kind, name, rest) => ({ apiVersion: 'v1', kind, metadata: { name, namespace: STORES }, ...rest });

/** A set of pods whose names stay, with a Service that knows them from their start. */
function setOf({ name, replicas, image, program, port, cpu, data }) {
  const labels = { store: name };
  return [
    object('Service', name, {
      spec: { clusterIP: 'None', publishNotReadyAddresses: true, selector: labels },
    }),
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name, namespace: STORES },
      spec: {
        serviceName: name,
        replicas,
        podManagementPolicy: 'Parallel',
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            enableServiceLinks: false,
            automountServiceAccountToken: false,
            terminationGracePeriodSeconds: 20,
            containers: [
              {
                name,
                image,
                imagePullPolicy: 'Never',
                command: ['/bin/sh', `/programs/${program}`],
                env: [{ name: 'NAMESPACE', value: STORES }, { name: 'SET', value: name }, podName],
                envFrom: [{ secretRef: { name: 'logins' } }],
                // Without a request a container gets next to nothing beside those that have one.
                resources: { requests: { cpu } },
                readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
                securityContext: { runAsUser: 0 },
                volumeMounts: [
                  { name: 'programs', mountPath: '/programs' },
                  { name: 'tls', mountPath: '/tls' },
                  { name: 'data', mountPath: '/data', subPathExpr: '$(POD)' },
                ],
              },
            ],
            volumes: [
              { name: 'programs', configMap: { name: 'programs' } },
              { name: 'tls', secret: { secretName: 'tls' } },
              { name: 'data', hostPath: { path: join(data, 'stores'), type: 'DirectoryOrCreate' } },
            ],
          },
        },
      },
    },
  ];
}

const podName = { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } };
