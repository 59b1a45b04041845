import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { App, type Role } from '../../support/app.js';
import { relayInProcess } from '../../support/in-process-relay.js';
import type { Settings } from '../../support/stack.js';
import { until } from '../../support/until.js';
import { size, type Arena, type Attack } from '../arena.js';
import type { Verdict } from '../verdict.js';

/** How long a process that said why it is not ready is given to become so all the same. */
const WATCH_MS = size(20_000, 2_000);

/** Starts a process that must refuse, beside those that run, and say why. */
async function refused(
  arena: Arena,
  verdict: Verdict,
  role: Exclude<Role, 'operations'>,
  what: string,
  settings: Settings,
  why: string,
): Promise<void> {
  const app = await App.launch(role, { ...arena.stack.env, ...settings });
  const isReady = async (): Promise<boolean> => (await app.health())?.status === 'ok';
  const says = async (): Promise<boolean> =>
    [...app.log, JSON.stringify((await app.health())?.faults ?? {})].some((text) => text.includes(why));
  const isDecided = async (): Promise<boolean> => !app.isRunning || (await says()) || (await isReady());
  await until('it says why, or is ready', isDecided, { withinMs: 60_000 }).catch(() => undefined);
  verdict.isTrue(`${what} says why`, await says());
  await until('it is ready', isReady, { withinMs: WATCH_MS }).catch(() => undefined);
  verdict.isTrue(`${what} is not ready`, !(await isReady()));
  await app.kill();
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
      refused(arena, verdict, 'worker', 'the worker', keys, missing),
      refused(arena, verdict, 'ingress', 'the ingress', keys, missing),
    ]);
    verdict.atMost('members of the group', await mostMembers(arena, running), 1);
  },
};

const otherDeployment: Attack = {
  name: 'a second deployment starts by mistake on the same group, and one on the same Redis',
  run: async (arena, verdict) => {
    const { env } = arena.stack;
    // It has topics of its own: with the same ones and an empty Redis it would be the relay itself after a loss.
    const own = { KAFKA_TOPIC_PREFIX: `other-${env['KAFKA_TOPIC_PREFIX']}` };
    await relayInProcess(['topics', 'create'], { ...env, ...own });
    const elsewhere = { ...own, REDIS_URL: (env['REDIS_URL'] ?? '').replace(/\d+$/, '14') };
    const group = { ...own, KAFKA_CONSUMER_GROUP: `${env['KAFKA_CONSUMER_GROUP']}-other` };
    const running = Promise.all([
      refused(arena, verdict, 'worker', 'the worker of the same group with another Redis', elsewhere, 'deployment'),
      refused(arena, verdict, 'worker', 'the worker of another group with the same Redis', group, 'deployment'),
    ]);
    verdict.atMost('members of the group', await mostMembers(arena, running), 1);
  },
};

/** Last: what they break on purpose is the relay itself. */
export const deployments: readonly Attack[] = [otherKeys, otherDeployment];
