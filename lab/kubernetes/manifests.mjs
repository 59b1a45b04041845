// Manifests of the cluster itself, and of the relay's namespace with its Secret.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { ADDRESS, DNS, METRICS_PORT, PARTNER } from './settings.mjs';

const SYSTEM = 'kube-system';
const COREFILE = `.:53 {
  errors
  health :8080
  ready :8181
  kubernetes cluster.local in-addr.arpa ip6.arpa {
    pods insecure
  }
  hosts {
    ${PARTNER.address} ${PARTNER.host}
    fallthrough
  }
  cache 5
}
`;
const LABELS = { 'k8s-app': 'kube-dns' };

/** CoreDNS as clusters have it. */
export const coredns = (image) => [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'coredns', namespace: SYSTEM } },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'relay:coredns' },
    rules: [
      { apiGroups: [''], resources: ['endpoints', 'services', 'pods', 'namespaces'], verbs: ['list', 'watch'] },
      { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
    ],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'relay:coredns' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'relay:coredns' },
    subjects: [{ kind: 'ServiceAccount', name: 'coredns', namespace: SYSTEM }],
  },
  {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'coredns', namespace: SYSTEM },
    data: { Corefile: COREFILE },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'coredns', namespace: SYSTEM },
    spec: {
      selector: { matchLabels: LABELS },
      template: {
        metadata: { labels: LABELS },
        spec: {
          serviceAccountName: 'coredns',
          dnsPolicy: 'Default',
          containers: [
            {
              name: 'coredns',
              image,
              imagePullPolicy: 'Never',
              args: ['-conf', '/etc/coredns/Corefile'],
              securityContext: { runAsUser: 0, capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } },
              readinessProbe: { httpGet: { path: '/ready', port: 8181 }, periodSeconds: 1 },
              volumeMounts: [{ name: 'config', mountPath: '/etc/coredns' }],
            },
          ],
          volumes: [{ name: 'config', configMap: { name: 'coredns' } }],
        },
      },
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'kube-dns', namespace: SYSTEM },
    spec: {
      clusterIP: DNS,
      selector: LABELS,
      ports: ['UDP', 'TCP'].map((protocol) => ({ name: protocol.toLowerCase(), port: 53, protocol })),
    },
  },
];

const METRICS = { name: 'metrics-server', namespace: SYSTEM };
/** Manifests that route to the server of metrics on the node, as those of an add-on do. */
export const metricsApi = () => [
  { apiVersion: 'v1', kind: 'Service', metadata: METRICS, spec: { ports: [{ port: 443, targetPort: METRICS_PORT }] } },
  {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { ...METRICS, labels: { 'kubernetes.io/service-name': METRICS.name } },
    addressType: 'IPv4',
    ports: [{ port: METRICS_PORT, name: '' }],
    endpoints: [{ addresses: [ADDRESS] }],
  },
  {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: 'v1beta1.metrics.k8s.io' },
    spec: {
      group: 'metrics.k8s.io',
      version: 'v1beta1',
      groupPriorityMinimum: 100,
      versionPriority: 100,
      insecureSkipTLSVerify: true,
      service: { ...METRICS, port: 443 },
    },
  },
];

/** A namespace that takes pods of the restricted profile alone. */
export const restrictedNamespace = (name) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: {
    name,
    labels: { 'pod-security.kubernetes.io/enforce': 'restricted', 'pod-security.kubernetes.io/warn': 'restricted' },
  },
});

/** Keys as docs/operations/install.md makes them, behind those that are kept. */
export function newKeys(kept) {
  const encryption = kept?.encryption ?? [];
  const signing = kept?.signing ?? [];
  const id = `k${encryption.length + 1}`;
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    encryption: [...encryption, `${id}:${randomBytes(32).toString('base64')}`],
    signing: [...signing, `${id}:${privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64')}`],
  };
}

/** @param more further members, such as passwords of stores */
export const secretOf = (namespace, name, { encryption, signing }, more = {}) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace },
  stringData: { ENCRYPTION_KEYS: encryption.join(','), JWT_PRIVATE_KEYS: signing.join(','), ...more },
});
