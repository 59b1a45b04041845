// What the cluster itself runs, and the relay's namespace with its Secret.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { DNS } from './settings.mjs';

const SYSTEM = 'kube-system';
const COREFILE = `.:53 {
  errors
  health :8080
  ready :8181
  kubernetes cluster.local in-addr.arpa ip6.arpa {
    pods insecure
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

/** A namespace that takes pods of the restricted profile alone. */
export const restrictedNamespace = (name) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: {
    name,
    labels: { 'pod-security.kubernetes.io/enforce': 'restricted', 'pod-security.kubernetes.io/warn': 'restricted' },
  },
});

/** The Secret that the chart wants, as docs/operations/install.md makes it; `ids` names its keys, the first of which writes. */
export function keysSecret(namespace, name, kept) {
  const encryption = kept?.encryption ?? [];
  const signing = kept?.signing ?? [];
  const id = `k${encryption.length + 1}`;
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const keys = {
    encryption: [...encryption, `${id}:${randomBytes(32).toString('base64')}`],
    signing: [...signing, `${id}:${privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64')}`],
  };
  return { keys, manifest: secretOf(namespace, name, keys) };
}

export const secretOf = (namespace, name, { encryption, signing }) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace },
  stringData: { ENCRYPTION_KEYS: encryption.join(','), JWT_PRIVATE_KEYS: signing.join(',') },
});
