// npm run check:chart [-- part of a step's name]: the chart rendered, unit tested and validated, its policy, its alerts, the compose
// file, the image's programs and the steps of a release. Nothing is installed in a cluster; npm run test:image builds the image.
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { breaches, networkBreaches, podsOf } from './chart/policy.mjs';
import { KUBERNETES, tools, yamlTool } from './chart/tools.mjs';
import { build } from './lib/build.mjs';
import { chartReadme } from './lib/chart-readme.mjs';
import { node24, root } from './lib/paths.mjs';
import { Fault, run, script } from './lib/process.mjs';
import { rehearse } from './release/rehearsal.mjs';

const chart = join(root, 'charts', 'partner-relay');
const valueFiles = [
  ...readdirSync(join(chart, 'ci')).filter((name) => name.endsWith('-values.yaml')),
  '../values-small.yaml',
];
/** Values that the schema must refuse, each with a word of its refusal; refusals of templates are in the chart's unit tests. */
const REFUSED = [
  ['--set=config.NO_SUCH_SETTING=1', 'NO_SUCH_SETTING'],
  ['--set=config.DELIVERY_CONCURRENCY=many', 'DELIVERY_CONCURRENCY'],
  ['--set=config.DELIVERY_TIMEOUT=15', 'DELIVERY_TIMEOUT'],
  ['--set=config.ENCRYPTION_KEYS=k1:secret', 'ENCRYPTION_KEYS'],
  ['--set=worker.terminationGracePeriodSeconds=30', 'terminationGracePeriodSeconds'],
  ['--set=worker.keda.minReplicaCount=0', 'minReplicaCount'],
  ['--set=image.tag=latest', 'tag'],
  ['--set=redis.url=redis://user:password@redis', 'url'],
  ['--set=redis.shards=0', 'shards'],
  ['--set=redis.shards=65', 'shards'],
  ['--set=config.REDIS_SHARDS=3', 'REDIS_SHARDS'],
  ['--set=worker.replicas=3', 'replicas'],
  ['--set=global.imageRegistry=3', 'imageRegistry'],
  ['--set=config.MAX_EVENT_TYPES=many', 'MAX_EVENT_TYPES'],
  ['--set=eventTypes=3', 'eventTypes'],
  ['--set=podLabels.app\\.kubernetes\\.io/name=other', 'podLabels'],
];

await script(async (signal) => {
  const { helm, unittest, promtool, python, definitions } = await tools(signal);
  const folder = mkdtempSync(join(tmpdir(), 'relay-chart-'));
  const capture = (command, args, options) =>
    run(command, args, { signal, capture: true, timeoutMs: 300_000, ...options });
  const template = (version, ...args) =>
    capture(helm, ['template', 'test', chart, '--kube-version', version, '--namespace', 'relay', ...args]);
  const yaml = (text, ...args) => {
    const file = join(folder, 'manifests.yaml');
    writeFileSync(file, text);
    return capture('sh', ['-c', 'file=$1; shift; exec "$0" "$@" < "$file"', python, file, yamlTool, ...args]);
  };
  const values = (name) => ['--values', join(chart, 'ci', name)];

  const steps = {
    async 'README.md from the comments of values.yaml'() {
      if (
        readFileSync(join(chart, 'README.md'), 'utf8') !== chartReadme(readFileSync(join(chart, 'values.yaml'), 'utf8'))
      )
        throw new Fault('it is not: npx node scripts/docs.mjs writes it anew');
    },
    async 'helm lint --strict'() {
      for (const name of valueFiles)
        await capture(helm, ['lint', '--strict', chart, '--kube-version', KUBERNETES[0], ...values(name)]);
    },
    async 'what the templates decide (helm-unittest)'() {
      await capture(unittest, ['--strict', chart]);
    },
    async 'every manifest valid, every pod restricted'() {
      for (const name of valueFiles)
        for (const version of KUBERNETES) {
          const text = await template(version, ...values(name));
          const wrong = await yaml(text, 'validate', version, definitions);
          if (wrong) throw new Fault(`${name}, Kubernetes ${version}:\n${wrong}`);
          const manifests = JSON.parse(await yaml(text, 'to-json'));
          const isOpen = /networkPolicy: \{ enabled: false/.test(readFileSync(join(chart, 'ci', name), 'utf8'));
          const said = [...breaches(manifests), ...(isOpen ? [] : networkBreaches(manifests))];
          if (podsOf(manifests).length < 2) said.push('hardly any pods');
          if (said.length > 0) throw new Fault(`${name}: ${said.join('\n')}`);
        }
    },
    async 'a changed setting makes new pods'() {
      const sums = [];
      for (const level of ['info', 'warn']) {
        const text = await template(KUBERNETES[0], ...values('minimal-values.yaml'), `--set=config.LOG_LEVEL=${level}`);
        sums.push(/checksum\/config: (\w{64})/.exec(text)?.[1]);
      }
      if (!sums[0] || sums[0] === sums[1]) throw new Fault('the checksum does not follow the settings');
    },
    async 'the same manifests each time, for who compares them with the cluster (GitOps)'() {
      const render = () => template(KUBERNETES[0], ...values('production-values.yaml'));
      if ((await render()) !== (await render())) throw new Fault('two renderings of the same values differ');
    },
    async 'wrong values are refused'() {
      for (const [wrong, named] of REFUSED) {
        const answer = await template(KUBERNETES[0], ...values('minimal-values.yaml'), wrong).catch((error) => error);
        if (typeof answer === 'string') throw new Fault(`${wrong} is taken`);
        if (!answer.message.includes(named))
          throw new Fault(`${wrong} is refused without naming ${named}:\n${answer.message}`);
      }
    },
    async 'alerts (promtool)'() {
      await capture(promtool, ['check', 'rules', join(chart, 'files', 'alerts.yaml')]);
      await capture(promtool, ['test', 'rules', join(chart, 'ci', 'alerts-test.yaml')]);
    },
    async 'alerts of one release beside another (promtool)'() {
      const rules = ['--set=metrics.prometheusRule.enabled=true', '--show-only=templates/monitoring.yaml'];
      const args = ['template', 'relay', chart, '--kube-version', KUBERNETES[0], '--namespace', 'production', ...rules];
      const text = await capture(helm, [...args, ...values('minimal-values.yaml')]);
      const [{ spec }] = JSON.parse(await yaml(text, 'to-json'));
      writeFileSync(join(folder, 'rules.yaml'), JSON.stringify(spec));
      cpSync(join(chart, 'ci', 'alerts-release-test.yaml'), join(folder, 'alerts-release-test.yaml'));
      await capture(promtool, ['check', 'rules', join(folder, 'rules.yaml')]);
      await capture(promtool, ['test', 'rules', join(folder, 'alerts-release-test.yaml')]);
    },
    async 'docker-compose.yml (compose-go)'() {
      const cwd = join(root, 'scripts', 'compose-check');
      await capture('go', ['run', '.', join(root, 'docker-compose.yml')], { cwd });
    },
    async "the image's files, with production dependencies only"() {
      await build(signal);
      await image(folder, capture);
    },
    async 'the steps of a release, rehearsed'() {
      await rehearse({ capture, helm });
    },
  };
  let failed = 0;
  try {
    const wanted = process.argv[2] ?? '';
    for (const [name, step] of Object.entries(steps).filter((entry) => entry[0].includes(wanted))) {
      const fault = await step().then(
        () => undefined,
        (error) => error,
      );
      signal.throwIfAborted();
      console.log(`${fault ? 'FAILED' : 'ok    '}  ${name}`);
      if (!fault) continue;
      failed += 1;
      console.log(fault.output || fault.message);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  console.log(
    failed > 0
      ? `${failed} failed`
      : `all passed: ${valueFiles.length} value files, Kubernetes ${KUBERNETES.join(', ')}`,
  );
  return failed > 0 ? 1 : 0;
});

/** The files of the image, started as the image starts them: every program must find its modules. */
async function image(folder, capture) {
  const app = join(folder, 'app');
  const copied = ['package.json', 'package-lock.json', 'scripts/receiver.mjs'];
  for (const name of copied) cpSync(join(root, name), join(app, name.split('/').at(-1)), { recursive: true });
  cpSync(join(root, 'scripts', 'image'), app, { recursive: true });
  await capture(node24, [join(root, 'scripts', 'image', 'bundle.mjs'), join(app, 'dist')]);
  const ci = ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  await capture('npm', ci, { cwd: app });
  const bill = await capture('npm', ['run', '-s', 'sbom'], { cwd: app });
  await capture(node24, [join(app, 'prune.mjs'), join(app, 'node_modules')]);
  if (!(JSON.parse(bill).components.length > 50)) throw new Fault('the bill of materials lists hardly anything');
  const role = (...args) =>
    capture(node24, [join(app, 'role.mjs'), ...args], { cwd: '/', env: { PATH: process.env.PATH } });
  await role('relay', '--version');
  for (const name of ['ingress', 'worker', 'operations']) {
    // Without settings each must end by naming them: then all its modules are there.
    const fault = await role(name).catch((error) => error);
    if (!/KAFKA_BROKERS/.test(fault.message)) throw new Fault(`${name} does not start: ${fault.message ?? fault}`);
  }
}
