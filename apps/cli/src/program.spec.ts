import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { RELAY_VERSION } from '@relay/config';
import type { Command } from 'commander';
import { COMMANDS, programOf, runProgram } from './program.js';
import type { Shell } from './shell.js';

const shellOf = (env: Shell['env'] = {}) => {
  const said = { out: '', err: '' };
  const shell: Shell = {
    env,
    readFile: (path) => readFileSync(path, 'utf8'),
    readInput: () => Promise.resolve(''),
    print: (text) => void (said.out += `${text}\n`),
    note: (text) => void (said.err += `${text}\n`),
    isTerminal: false,
    interrupted: () => Promise.resolve(),
    exitCode: 0,
  };
  return { shell, said };
};
const run = async (...args: string[]) => {
  const { shell, said } = shellOf();
  return { code: await runProgram(args, shell), ...said };
};
const leavesOf = (command: Command): Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
const pathOf = (command: Command): string[] =>
  command.parent === null ? [] : [...pathOf(command.parent), command.name()];

describe('relay', () => {
  const everything = (): Promise<Command> => programOf(Object.keys(COMMANDS), shellOf().shell);

  it('shows an example and the exit codes in the help of every command and group', async () => {
    const leaves = leavesOf(await everything());
    const entries = Object.entries(COMMANDS);
    const alone = entries.filter(([, { admin }]) => admin !== 'only').map(([name]) => [name]);
    const under = entries.filter(([, { admin }]) => admin).map(([name]) => ['admin', name]);
    const groups = [...alone, ...under];
    const paths = [...leaves.map(pathOf), ...groups, ['admin'], []];
    expect(leaves.length).toBeGreaterThan(18);
    for (const path of paths) {
      const { code, out } = await run(...path, '--help');
      expect([path.join(' '), code]).toEqual([path.join(' '), 0]);
      expect(out).toContain(`\nExample:\n  $ relay ${path.join(' ')}`);
      expect(out).toMatch(/\nExit code: 0 success; 1 failure.*; 2 usage error\.\n$/);
    }
  });

  it('knows --json on every command', async () => {
    for (const command of leavesOf(await everything()))
      expect(command.options.map(({ long }) => long)).toContain('--json');
  });

  it.each([
    ['no command', []],
    ['an unknown command', ['bogus']],
    ['a group alone', ['partners']],
    ['rescue of nothing', ['admin']],
    ['an operator without a role', ['admin', 'clients', 'create', 'operator', 'x']],
    ['an unknown option', ['doctor', '--bogus']],
    ['a missing argument', ['partners', 'create']],
    ['an argument too many', ['partners', 'list', 'x']],
    ['an unreadable name', ['partners', 'create', ' ']],
    ['two credentials', ['sources', 'create', 'x', '--api-key', '--jwt-file', 'y']],
    ['a JWT among its arguments', ['sources', 'create', 'x', '--jwt', 'y']],
    ['a secret among its arguments', ['send', 'task.created', '--client-id', 'x', '--client-secret', 'y']],
    ['two proofs', ['send', 'task.created', '--client-id', 'x', '--api-key-file', 'y']],
    ['an unknown event type', ['send', 'task.creatd']],
    ['no envelopes', ['send', 'task.created', '--count', '0']],
    ['no source', ['send', 'task.created']],
    ['an unknown event type to listen for', ['listen', '--type', 'task.created,task.creatd']],
    ['no address to forward to', ['listen', '--forward-to', '127.0.0.1:8080']],
    ['no UUID', ['deliveries', 'get', 'x']],
    ['an unknown reason', ['dead-letters', 'list', '--reason', 'x']],
    ['no letters', ['dead-letters', 'replay']],
    ['an unknown option beside ids', ['dead-letters', 'purge', 'x', '--yess']],
    ['letters chosen twice', ['dead-letters', 'replay', 'x', '--all']],
    ['a replay without a type', ['replay']],
    ['a replay of an unknown time', ['replay', '--type', 'task.created', '--since', 'yesterday']],
    ['a replay of a time that could be guessed at', ['replay', '--type', 'task.created', '--since', '7']],
    ['a replay of a time of no zone', ['replay', '--type', 'task.created', '--until', '2030-01-01T00:00:00']],
    [
      'a replay that ends before it begins',
      ['replay', '--type', 'task.created', '--since', '2030-01-02', '--until', '2030-01-01'],
    ],
    ['a purge without --yes', ['dead-letters', 'purge', '--all']],
    ['no webhooks', ['webhooks', 'disable']],
    ['webhooks chosen twice', ['webhooks', 'disable', 'x', '--partner', 'y']],
    ['a deletion without --yes', ['webhooks', 'delete', 'x']],
    ['event types of no file', ['event-types', 'apply']],
    ['an unknown status', ['webhooks', 'list', '--status', 'gone']],
  ])('answers %s with exit code 2 and says how it is used, on standard error only', async (_, args) => {
    const { code, out, err } = await run(...args);
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(/^error: .+\n\(relay … --help shows the usage\)\n$|^Usage: relay/);
  });

  it('fails with one sentence when its settings are missing', async () => {
    const { code, out, err } = await run('registry', 'compact');
    expect([code, out, err]).toEqual([
      1,
      '',
      'error: REDIS_URL is not set: set it, or REDIS_SENTINELS or REDIS_CLUSTER_NODES.\n',
    ]);
    const asking = await run('partners', 'list');
    expect([asking.code, asking.out]).toEqual([1, '']);
    expect(asking.err).toMatch(/^error: OPERATOR_CLIENT_ID .* `relay admin clients create operator NAME --role admin`/);
  });

  it('refuses two addresses of Redis, because it uses only one', async () => {
    const { shell, said } = shellOf({ REDIS_URL: 'redis://a:1', REDIS_CLUSTER_NODES: 'b:2' });
    expect(await runProgram(['registry', 'compact'], shell)).toBe(1);
    expect(said.err).toBe('error: REDIS_URL and REDIS_CLUSTER_NODES are given together: leave one of them.\n');
  });

  it('names its version, which is the one of package.json', async () => {
    expect(await run('--version')).toMatchObject({ code: 0, out: `${RELAY_VERSION}\n` });
    const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
    expect(JSON.parse(text)).toMatchObject({ version: RELAY_VERSION });
  });
});
