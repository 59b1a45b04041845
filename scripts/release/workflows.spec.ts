import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { parseYaml } from '@redocly/openapi-core';

type Rights = Readonly<Record<string, string>>;
interface Step {
  readonly run?: string;
  readonly uses?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}
interface Job {
  readonly permissions?: Rights;
  readonly 'timeout-minutes'?: number;
  readonly steps: readonly Step[];
}
interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions?: Rights;
  readonly jobs: Readonly<Record<string, Job>>;
}
interface Action {
  readonly runs: { readonly steps: readonly Step[] };
}

const FOLDER = '.github/workflows/';
const scriptsOf = (folder: string): Record<string, string> =>
  (JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as { scripts: Record<string, string> }).scripts;
const scripts = scriptsOf('.');

/** Host names and addresses; the tools of a workflow know theirs, and a fork has others. */
const HOST = /https?:|oci:|\b[\w-]+(?:\.[\w-]+)*\.(?:app|cloud|com|dev|eu|io|net|org)\b/g;
const PINNED = /^\s*(?:- )?uses: [\w.-]+(?:\/[\w.-]+)+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/;

/** A command that anybody can run in a checkout: a script of package.json, or a file. */
function isOurs(command: string): boolean {
  const [, script, isTest] = /^npm (?:run ([\w:-]+)|(test))(?: -- [\w .=-]+)?$/.exec(command) ?? [];
  if (script !== undefined || isTest !== undefined) return Object.hasOwn(scripts, script ?? 'test');
  const [, folder, own] = /^npm --prefix (\w+) (?:ci|run ([\w:-]+))$/.exec(command) ?? [];
  if (folder !== undefined) return own === undefined || Object.hasOwn(scriptsOf(folder), own);
  const [, file = ''] = /^(?:node )?([\w./-]+)(?: [\w .=-]+)?$/.exec(command) ?? [];
  return file.includes('/') && existsSync(file) && statSync(file).isFile();
}

/** What is wrong with a job, in words. */
function faultsOf({ permissions, steps, 'timeout-minutes': limit }: Job): string[] {
  const said: string[] = [];
  if (permissions === undefined) said.push('it has no permissions');
  if (limit === undefined) said.push('it has no timeout-minutes');
  for (const { run, uses, with: given } of steps) {
    if (run !== undefined && !isOurs(run)) said.push(`it runs ${run}`);
    if (uses?.startsWith('./') === true && !existsSync(`${uses}/action.yml`)) said.push(`there is no ${uses}`);
    if (uses?.startsWith('actions/checkout@') === true && given?.['persist-credentials'] !== false)
      said.push('its later steps find the token of the checkout');
  }
  return said;
}

const hostsIn = (text: string): string[] => text.replaceAll(/(?:^|\s)#.*$/gm, '').match(HOST) ?? [];
const unpinned = (text: string): string[] =>
  text.split('\n').filter((line) => /\buses: (?!\.\/)/.test(line) && !PINNED.test(line));

const read = (path: string): { path: string; text: string } => ({ path, text: readFileSync(path, 'utf8') });
const workflows = readdirSync(FOLDER).map((name) => {
  const { path, text } = read(`${FOLDER}${name}`);
  return { path, text, content: parseYaml(text) as Workflow };
});
const actions = readdirSync('.github/actions').map((name) => {
  const { path, text } = read(`.github/actions/${name}/action.yml`);
  return { path, text, content: parseYaml(text) as Action };
});
const jobs = workflows.flatMap(({ path, content }) =>
  Object.entries(content.jobs).map(([name, job]) => ({ name: `${name} of ${path}`, job })),
);

describe('a workflow', () => {
  it.each(workflows)('$path gives no right to all of its jobs', ({ content }) => {
    expect(content.permissions).toEqual({});
  });

  it.each(workflows)('$path runs no code of a fork with the rights of the repository', ({ content }) => {
    expect(Object.keys(content.on).filter((event) => /_target$|^workflow_run$/.test(event))).toEqual([]);
  });

  it.each([...workflows, ...actions])('$path names no host and runs actions by their commits', ({ text }) => {
    expect([...hostsIn(text), ...unpinned(text)]).toEqual([]);
  });

  it.each(jobs)('has the job $name, whose commands run on any machine', ({ job }) => {
    expect(faultsOf(job)).toEqual([]);
  });

  it.each(actions)('has no expression in a command of $path: strangers can choose its text', ({ content }) => {
    expect(content.runs.steps.filter(({ run }) => run?.includes('${{'))).toEqual([]);
  });

  it('writes nowhere but for a release and for the site', () => {
    const writing = workflows
      .filter(({ text }) => /: write\b/.test(text))
      .map(({ path, content }) => [path, content.on]);
    const on = { push: { branches: ['main'] } };
    expect(writing).toEqual(['release', 'site'].map((name) => [`${FOLDER}${name}.yml`, on]));
  });
});

describe('the check of workflows', () => {
  const job = { permissions: {}, 'timeout-minutes': 1, steps: [] };

  it.each<[string, Job, string[]]>([
    ['no rights', { 'timeout-minutes': 1, steps: [] }, ['it has no permissions']],
    ['no end', { permissions: {}, steps: [] }, ['it has no timeout-minutes']],
    ['another program', { ...job, steps: [{ run: 'curl -sS x' }] }, ['it runs curl -sS x']],
    ['no such script', { ...job, steps: [{ run: 'npm run deploy' }] }, ['it runs npm run deploy']],
    [
      'no such script of the site',
      { ...job, steps: [{ run: 'npm --prefix site run x' }] },
      ['it runs npm --prefix site run x'],
    ],
    ['no such file', { ...job, steps: [{ run: 'node scripts/deploy.mjs' }] }, ['it runs node scripts/deploy.mjs']],
    ['two commands', { ...job, steps: [{ run: 'npm test\nrm x' }] }, ['it runs npm test\nrm x']],
    ['a chain', { ...job, steps: [{ run: 'npm test && rm x' }] }, ['it runs npm test && rm x']],
    ['an expression', { ...job, steps: [{ run: 'npm test -- ${{ x }}' }] }, ['it runs npm test -- ${{ x }}']],
    ['no such action', { ...job, steps: [{ uses: './.github/actions/none' }] }, ['there is no ./.github/actions/none']],
    [
      'the token of the checkout',
      { ...job, steps: [{ uses: 'actions/checkout@1' }] },
      ['its later steps find the token of the checkout'],
    ],
  ])('is told of %s', (_, wrong, faults) => {
    expect(faultsOf(wrong)).toEqual(faults);
  });

  it('takes scripts and files of the repository', () => {
    const steps = [
      'npm test',
      'npm run audit -- --required',
      'npm --prefix site ci',
      '.ci/run',
      'node scripts/docs.mjs',
    ].map((run) => ({
      run,
    }));
    expect(faultsOf({ ...job, steps })).toEqual([]);
  });

  it('is told of hosts and of actions by a tag', () => {
    expect(hostsIn('registry: registry.relay.dev # docs.relay.dev\nurl: https://x')).toEqual([
      'registry.relay.dev',
      'https:',
    ]);
    expect(unpinned('  - uses: a/b@v1\n  - uses: ./c')).toEqual(['  - uses: a/b@v1']);
  });
});
