import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { App, type Role } from '../../support/app.js';
import type { Settings } from '../../support/stack.js';
import { until } from '../../support/until.js';
import { size, type Arena, type Attack } from '../arena.js';
import type { Verdict } from '../verdict.js';

/** How long a process that must not become ready is given to do so. */
const WATCH_MS = size(20_000, 6_000);

/** Starts a process that must refuse, beside those that run. @returns what it said of itself */
async function refused(
  arena: Arena,
  verdict: Verdict,
  role: Exclude<Role, 'operations'>,
  what: string,
  settings: Settings,
): Promise<string> {
  const app = await App.launch(role, { ...arena.stack.env, ...settings });
  let told = '';
  const isReady = async (): Promise<boolean> => {
    const health = await app.health();
    if (health !== undefined) told = JSON.stringify(health.faults);
    return health?.status === 'ok';
  };
  // It may say so for a moment before it has looked: what counts is how it stays.
  await until('it has ended', () => !app.isRunning, { withinMs: WATCH_MS }).catch(() => undefined);
  verdict.isTrue(`${what} is not ready`, !(await isReady()));
  await app.kill();
  return `${told} ${app.log.join('\n')}`;
}

const members = async (arena: Arena): Promise<number> => {
  const { groups } = await arena.stack.admin.describeGroups([arena.stack.env['KAFKA_CONSUMER_GROUP'] ?? '']);
  return groups[0]?.members.length ?? 0;
};

/** The most members that the workers' group has while something runs. */
async function mostMembers(arena: Arena, running: Promise<unknown>): Promise<number> {
  const over = running.then(() => true);
  for (let most = 0; ;) {
    most = Math.max(most, await members(arena));
    if (await Promise.race([over, delay(200, false)])) return most;
  }
}

const otherKeys: Attack = {
  name: 'a worker and an ingress start beside the others with keys that open nothing',
  run: async (arena, verdict) => {
    const kid = `k${randomUUID().slice(0, 8)}`;
    const keys = { ENCRYPTION_KEYS: `${kid}:${randomBytes(32).toString('base64')}` };
    const missing = arena.stack.env['ENCRYPTION_KEYS']?.split(':')[0] ?? '';
    const running = Promise.all([
      refused(arena, verdict, 'worker', 'the worker', keys),
      refused(arena, verdict, 'ingress', 'the ingress', keys),
    ]);
    verdict.atMost('members of the group', await mostMembers(arena, running), 1);
    const said = await running;
    verdict.isTrue(
      'each names the key that is missing',
      said.every((text) => text.includes(missing)),
    );
  },
};

const otherDeployment: Attack = {
  name: 'a second deployment starts by mistake on the same group, and one on the same Redis',
  run: async (arena, verdict) => {
    const { env } = arena.stack;
    const elsewhere = { REDIS_URL: (env['REDIS_URL'] ?? '').replace(/\d+$/, '14') };
    const group = { KAFKA_CONSUMER_GROUP: `${env['KAFKA_CONSUMER_GROUP']}-other` };
    const running = Promise.all([
      refused(arena, verdict, 'worker', 'the worker of the same group with another Redis', elsewhere),
      refused(arena, verdict, 'worker', 'the worker of another group with the same Redis', group),
    ]);
    verdict.atMost('members of the group', await mostMembers(arena, running), 1);
    await running;
  },
};

/** Last: what they break on purpose is the relay itself. */
export const deployments: readonly Attack[] = [otherKeys, otherDeployment];
