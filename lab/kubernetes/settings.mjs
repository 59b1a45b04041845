// Settings of the parts of the node: addresses, logins and their files.
export const NODE = 'relay-node';
export const ADDRESS = '172.30.0.1';
export const DNS = '10.96.0.10';
/** A partner outside the cluster: a public address, which the relay needs no leave for. */
export const PARTNER = { host: 'hooks.partner.example', address: '93.184.215.14' };
/** On the node, opened to the pods of development by a value; the next one is not. */
export const OPENED_PORT = 8088;
export const METRICS_PORT = 4443;
const PODS = '10.244.0.0/16';
const PODS_OF_NODE = '10.244.0.0/24';
const SERVICES = '10.96.0.0/16';

/** Users of the API server and their groups. The tokens belong to a cluster that only its own network namespaces can reach. */
const LOGINS = {
  admin: ['admin', 'system:masters'],
  manager: ['system:kube-controller-manager', ''],
  scheduler: ['system:kube-scheduler', ''],
  proxy: ['system:kube-proxy', ''],
  router: ['router', 'system:masters'],
  node: [`system:node:${NODE}`, 'system:nodes'],
};

/** Files by name, as text. @param folder where they will be */
export function files(folder, cgroup) {
  const tokens = Object.entries(LOGINS).map(([who, [user, group]]) => `token-${who},${user},${who},${group}\n`);
  return {
    'tokens.csv': tokens.join(''),
    ...Object.fromEntries(Object.keys(LOGINS).map((who) => [`${who}.conf`, login(who)])),
    'containerd.toml': containerd(folder),
    'network/10-relay.conflist': JSON.stringify(network),
    'kubelet.yaml': JSON.stringify(kubelet(folder, cgroup)),
    'proxy.yaml': JSON.stringify(proxy(folder)),
    // Pods that take the node's name servers get none: no name is looked up outside.
    'resolv.conf': 'nameserver 127.0.0.1\n',
  };
}

const login = (who) =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'relay', cluster: { server: `https://${ADDRESS}:6443`, 'insecure-skip-tls-verify': true } }],
    users: [{ name: who, user: { token: `token-${who}` } }],
    contexts: [{ name: who, context: { cluster: 'relay', user: who } }],
    'current-context': who,
  });

const containerd = (folder) => `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/library/pause:1"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${folder}/network"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
`;

const network = {
  cniVersion: '1.0.0',
  name: 'relay',
  plugins: [
    {
      type: 'bridge',
      bridge: 'cni0',
      isDefaultGateway: true,
      ipMasq: true,
      hairpinMode: true,
      ipam: { type: 'host-local', ranges: [[{ subnet: PODS_OF_NODE }]] },
    },
    { type: 'portmap', capabilities: { portMappings: true } },
  ],
};

const kubelet = (folder, cgroup) => ({
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  failCgroupV1: false,
  cgroupDriver: 'cgroupfs',
  cgroupRoot: cgroup,
  containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: 'AlwaysAllow' },
  clusterDNS: [DNS],
  clusterDomain: 'cluster.local',
  resolvConf: `${folder}/resolv.conf`,
  failSwapOn: false,
  imageGCHighThresholdPercent: 100,
  evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
});

const proxy = (folder) => ({
  apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
  kind: 'KubeProxyConfiguration',
  mode: 'iptables',
  clusterCIDR: PODS,
  hostnameOverride: NODE,
  clientConnection: { kubeconfig: `${folder}/proxy.conf` },
  // These sizes are of the whole machine.
  conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
});

/** The servers in the order of their start, each with its arguments. @param to folder: conf, data, programs' own keys */
export const servers = ({ conf, data, keys }) => ({
  containerd: ['-c', `${conf}/containerd.toml`],
  etcd: [
    `--data-dir=${data}/etcd`,
    ...['listen', 'advertise'].map((what) => `--${what}-client-urls=http://127.0.0.1:2379`),
    '--listen-peer-urls=http://127.0.0.1:2380',
    '--unsafe-no-fsync', // a cluster that ends with its process
  ],
  'kube-apiserver': [
    '--etcd-servers=http://127.0.0.1:2379',
    '--bind-address=0.0.0.0',
    `--advertise-address=${ADDRESS}`,
    `--cert-dir=${keys}`,
    `--token-auth-file=${conf}/tokens.csv`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--allow-privileged=true',
    '--kubelet-preferred-address-types=InternalIP',
    `--service-cluster-ip-range=${SERVICES}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    ...['key', 'signing-key'].map((what) => `--service-account-${what}-file=${keys}/accounts.pem`),
    // By these it passes requests on to servers of further APIs, as that of metrics.
    `--requestheader-client-ca-file=${keys}/front/ca.crt`,
    '--requestheader-allowed-names=front',
    '--requestheader-username-headers=X-Remote-User',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    `--proxy-client-cert-file=${keys}/front/front.crt`,
    `--proxy-client-key-file=${keys}/front/front.key`,
  ],
  'kube-controller-manager': [
    `--kubeconfig=${conf}/manager.conf`,
    `--root-ca-file=${keys}/apiserver.crt`,
    `--service-account-private-key-file=${keys}/accounts.pem`,
    '--use-service-account-credentials',
    '--leader-elect=false',
    `--cert-dir=${keys}/manager`,
    '--allocate-node-cidrs=true',
    `--cluster-cidr=${PODS}`,
    ...['authentication', 'authorization'].map((what) => `--${what}-kubeconfig=${conf}/manager.conf`),
  ],
  'kube-scheduler': [
    '--leader-elect=false',
    ...['', 'authentication-', 'authorization-'].map((what) => `--${what}kubeconfig=${conf}/scheduler.conf`),
  ],
  kubelet: [
    `--config=${conf}/kubelet.yaml`,
    `--kubeconfig=${conf}/node.conf`,
    `--hostname-override=${NODE}`,
    `--node-ip=${ADDRESS}`,
    `--cert-dir=${keys}/kubelet`,
  ],
  'kube-proxy': [`--config=${conf}/proxy.yaml`],
  'kube-router': [
    `--kubeconfig=${conf}/router.conf`,
    '--run-router=false',
    '--run-service-proxy=false',
    '--run-firewall=true',
    `--hostname-override=${NODE}`,
    `--service-cluster-ip-range=${SERVICES}`,
  ],
  'metrics-server': [
    ...['', 'authentication-', 'authorization-'].map((what) => `--${what}kubeconfig=${conf}/admin.conf`),
    `--secure-port=${METRICS_PORT}`,
    `--cert-dir=${keys}/metrics`,
    '--kubelet-insecure-tls',
    '--kubelet-preferred-address-types=InternalIP',
    '--metric-resolution=15s',
  ],
});
