// Rules for every pod of the chart beyond its schema: the restricted profile of the Pod Security Standards, and the chart's own.
import ipaddr from 'ipaddr.js';

const VOLUMES = new Set([
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
]);
const PROBED = new Set(['Deployment', 'StatefulSet']);

/** The pods of a list of manifests, each with its origin. */
export function podsOf(manifests) {
  return manifests.flatMap((manifest) => {
    const { kind, metadata, spec } = manifest;
    const pod = kind === 'Pod' ? { metadata, spec } : spec?.template;
    return pod?.spec?.containers
      ? [{ kind, name: `${kind}/${metadata.name}`, pod: pod.spec, labels: pod.metadata.labels }]
      : [];
  });
}

/** Every breach in words; none when all is well. */
export function breaches(manifests) {
  return podsOf(manifests).flatMap(({ kind, name, pod, labels }) => {
    const isOurs = !['kafka', 'valkey'].includes(labels['app.kubernetes.io/component']);
    const said = [];
    const must = (holds, what) => holds || said.push(`${name}: ${what}`);

    for (const field of ['hostNetwork', 'hostPID', 'hostIPC']) must(!pod[field], `${field} is set`);
    must(pod.securityContext?.runAsNonRoot === true, 'runAsNonRoot is not true');
    must((pod.securityContext?.runAsUser ?? 0) > 0, 'runAsUser is root');
    must(pod.securityContext?.seccompProfile?.type === 'RuntimeDefault', 'the seccomp profile is not RuntimeDefault');
    must(pod.automountServiceAccountToken === false, 'the token of the service account is mounted');
    for (const volume of pod.volumes ?? [])
      for (const type of Object.keys(volume).filter((key) => key !== 'name'))
        must(VOLUMES.has(type), `the volume ${volume.name} is a ${type}`);

    for (const container of [...(pod.initContainers ?? []), ...pod.containers]) {
      const { securityContext: security = {}, image, resources, ports = [] } = container;
      must(security.allowPrivilegeEscalation === false, 'allowPrivilegeEscalation is not false');
      must(security.privileged !== true, 'a container is privileged');
      must(security.capabilities?.drop?.includes('ALL'), 'capabilities are not dropped');
      must(
        (security.capabilities?.add ?? []).every((added) => added === 'NET_BIND_SERVICE'),
        'capabilities are added',
      );
      must(security.runAsUser !== 0 && security.runAsNonRoot !== false, 'a container runs as root');
      must(!isOurs || security.readOnlyRootFilesystem === true, 'the root file system can be written');
      must(
        ports.every((port) => port.hostPort === undefined),
        'a port of the node is taken',
      );
      must(/(?::(?!latest$)[\w.-]+|@sha256:[0-9a-f]{64})$/.test(image), `the image ${image} has no fixed version`);
      must(!/bitnami/i.test(image), `the image ${image} is Bitnami’s`);
      must(resources?.requests?.cpu && resources.requests.memory && resources.limits?.memory, 'resources are missing');
      if (PROBED.has(kind))
        for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
          must(container[probe], `${probe} is missing`);
    }
    if (PROBED.has(kind)) must(pod.terminationGracePeriodSeconds >= 45, 'the grace period is below 45 s');
    return said;
  });
}

/** Functions of templates whose result is another at each rendering, or depends on a cluster that GitOps does not ask. */
const UNREPEATABLE =
  /\{\{(?:(?!\}\})[^])*?\b(lookup|now|date|ago|uuidv4|rand\w+|gen[A-Z]\w+|htpasswd|bcrypt|derivePassword|encryptAES|getHostByName|Release\.(?:IsInstall|IsUpgrade|Revision))\b/g;

/** The names of such functions in the text of a template. */
export const unrepeatable = (text) => [
  ...new Set(
    [...text.replaceAll(/\{\{-?\s*\/\*[^]*?\*\/\s*-?\}\}/g, '').matchAll(UNREPEATABLE)].map(([, name]) => name),
  ),
];

/** Ports of Kafka, Redis and the sentinels, which may be anywhere, and of DNS. */
const STORE_PORTS = new Set([9092, 9093, 9094, 9096, 9098, 6378, 6379, 6380, 10000, 26379]);
const DNS_PORTS = new Set([53, 5353]);
const PRIVATE =
  '10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 169.254.0.0/16 127.0.0.0/8 100.64.0.0/10 fc00::/7 fe80::/10 ::1/128'.split(
    ' ',
  );

/** Openings of the network in the manifests of one value file, in words. */
export function networkBreaches(manifests) {
  const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy');
  const policyOf = (role) => policies.find((policy) => roleOf(policy) === role);
  const said = [];
  for (const { name, labels } of podsOf(manifests)) {
    const role = labels['app.kubernetes.io/component'];
    if (!policyOf(role)) said.push(`${name} has no NetworkPolicy`);
  }
  for (const policy of policies) {
    for (const type of ['Ingress', 'Egress'])
      if (!policy.spec.policyTypes?.includes(type)) said.push(`${roleOf(policy)}: its policy leaves ${type} open`);
    for (const rule of policy.spec.egress ?? [])
      said.push(...reachedBy(rule).map((what) => `${roleOf(policy)} may reach ${what}`));
  }
  const doors = (policyOf('operations')?.spec.ingress ?? []).filter(
    ({ ports }) => !ports || ports.some(({ port }) => port === 'http'),
  );
  if (doors.some(({ from }) => !from?.length)) said.push('everybody may reach operations');
  return said;
}

const roleOf = ({ spec }) => spec.podSelector.matchLabels?.['app.kubernetes.io/component'] ?? 'every pod';

/** Forbidden destinations of a rule, for any kind of peer. */
function reachedBy({ ports = [], to = [] }) {
  if (ports.length === 0) return ['every port of what one of its rules names'];
  const left = ports.filter(({ port, endPort }) => endPort || (!DNS_PORTS.has(port) && !STORE_PORTS.has(port)));
  if (left.length === 0) return [];
  const on = `on port ${left.map(({ port, endPort }) => (endPort ? `${port} to ${endPort}` : port)).join(', ')}`;
  if (to.length === 0) return [`everything ${on}`];
  return to.flatMap(({ ipBlock, podSelector, namespaceSelector }) => {
    if (ipBlock) return PRIVATE.filter((range) => isOpen(ipBlock, range)).map((range) => `${range} ${on}`);
    return selectsAll(podSelector) && selectsAll(namespaceSelector) ? [`every pod ${on}`] : [];
  });
}

/** Whether addresses of a range are in a block and in none of its exceptions. */
function isOpen({ cidr, except = [] }, range) {
  const [[address, bits], [base, width]] = [range, cidr].map((text) => ipaddr.parseCIDR(text));
  if (address.kind() !== base.kind()) return false;
  const isMet = address.match(base, width) || base.match(address, bits);
  return (
    isMet && !except.map((text) => ipaddr.parseCIDR(text)).some(([out, of]) => of <= bits && address.match(out, of))
  );
}

/** Absent or without a condition. */
const selectsAll = (selector) =>
  Object.keys(selector?.matchLabels ?? {}).length === 0 && !selector?.matchExpressions?.length;
