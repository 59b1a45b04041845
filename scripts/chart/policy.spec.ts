import { readdirSync, readFileSync } from 'node:fs';

type Rule = Readonly<Record<string, unknown>>;

const file = new URL('policy.mjs', import.meta.url).href;
const { networkBreaches: breaches, unrepeatable } = (await import(file)) as {
  networkBreaches: (manifests: readonly object[]) => string[];
  unrepeatable: (template: string) => string[];
};
const component = (role: string): object => ({ 'app.kubernetes.io/component': role });

/** What is said of a worker whose policy has these rules. */
function saidOf(egress: readonly Rule[], policyTypes = ['Ingress', 'Egress']): string[] {
  const pod = { metadata: { labels: component('worker') }, spec: { containers: [{}] } };
  return breaches([
    { kind: 'Deployment', metadata: { name: 'worker' }, spec: { template: pod } },
    { kind: 'NetworkPolicy', spec: { podSelector: { matchLabels: component('worker') }, policyTypes, egress } },
  ]);
}

const https = [{ port: 443 }];
const world = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16', '127.0.0.0/8', '100.64.0.0/10'];
const block = (cidr: string, except: readonly string[] = []): Rule => ({
  ports: https,
  to: [{ ipBlock: { cidr, except } }],
});

describe('the chart’s check of network policies', () => {
  it.each<[string, Rule]>([
    ['public addresses', block('0.0.0.0/0', world)],
    ['public addresses of IPv6', block('2000::/3')],
    ['the stores, wherever they are', { ports: [{ port: 9092 }, { port: 6379 }] }],
    ['DNS', { ports: [{ port: 53 }], to: [{ namespaceSelector: {} }] }],
    ['pods of a label', { ports: https, to: [{ podSelector: { matchLabels: { app: 'proxy' } } }] }],
    ['namespaces of a label', { ports: https, to: [{ namespaceSelector: { matchLabels: { name: 'egress' } } }] }],
  ])('says nothing of a worker that may reach %s', (_, rule) => {
    expect(saidOf([rule])).toEqual([]);
  });

  it.each<[string, Rule, string]>([
    ['a range that is not left out', block('0.0.0.0/0', world.slice(1)), '10.0.0.0/8 on port 443'],
    ['a range of which a part is left out', block('0.0.0.0/0', ['10.0.0.0/16', ...world.slice(1)]), '10.0.0.0/8'],
    ['a part of a private range', block('10.3.0.0/16'), '10.0.0.0/8'],
    ['private addresses of IPv6', block('fd00::/8'), 'fc00::/7 on port 443'],
    ['all of IPv6', block('::/0'), '::1/128 on port 443'],
    [
      'ports from that of DNS on',
      { ports: [{ port: 53, endPort: 9000 }], to: [{ namespaceSelector: {} }] },
      'every pod',
    ],
    ['ports from that of a store on', { ports: [{ port: 6379, endPort: 8443 }] }, 'everything on port 6379 to 8443'],
    ['any peer', { ports: https }, 'everything on port 443'],
    ['any port', { to: [{ ipBlock: { cidr: '0.0.0.0/0', except: world } }] }, 'every port'],
    ['every namespace', { ports: https, to: [{ namespaceSelector: {} }] }, 'every pod on port 443'],
    ['every pod of its own', { ports: https, to: [{ podSelector: {} }] }, 'every pod on port 443'],
  ])('says it of a worker that may reach %s', (_, rule, what) => {
    expect(saidOf([rule])).toContainEqual(expect.stringContaining(`worker may reach ${what}`));
  });

  it('says it of a pod without a policy, and of a policy that does not speak of egress', () => {
    expect(saidOf([], ['Ingress'])).toEqual(['worker: its policy leaves Egress open']);
    const pod = { metadata: { labels: component('ingress') }, spec: { containers: [{}] } };
    const deployment = { kind: 'Deployment', metadata: { name: 'ingress' }, spec: { template: pod } };
    expect(breaches([deployment])).toEqual(['Deployment/ingress has no NetworkPolicy']);
  });
});

describe('the chart’s templates', () => {
  it.each<[string, string[]]>([
    ['{{ randAlphaNum 32 }}', ['randAlphaNum']],
    ['{{- $kept := (lookup "v1" "Secret" .Release.Namespace "keys") -}}\n{{ genCA "ca" 365 }}', ['lookup', 'genCA']],
    ['{{ if .Release.IsInstall }}{{ now | date "2006" }}{{ end }}', ['Release.IsInstall', 'now']],
  ])('may not differ at each rendering: %s', (template, names) => {
    expect(unrepeatable(template)).toEqual(names);
  });

  it.each(['date: now', '{{/* never a lookup */}}', '{{ .Values.lookups }} now {{ .Release.Name }}'])(
    'may contain: %s',
    (template) => {
      expect(unrepeatable(template)).toEqual([]);
    },
  );

  it('render alike in every cluster and at every time, as GitOps renders them', () => {
    const templates = new URL('../../charts/partner-relay/templates/', import.meta.url);
    const names = readdirSync(templates, { recursive: true, encoding: 'utf8' }).filter((name) => /\.\w+$/.test(name));
    expect(names.length).toBeGreaterThan(10);
    const found = names.map((name) => [name, unrepeatable(readFileSync(new URL(name, templates), 'utf8'))] as const);
    // Nothing is rendered from it unless the chart brings its own stores.
    expect(found.filter(([, functions]) => functions.length > 0).map(([name]) => name)).toEqual(['keys.yaml']);
  });
});
