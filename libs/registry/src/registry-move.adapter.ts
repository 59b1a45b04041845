import { defineScript, REGISTRY_APPLIED, REGISTRY_REBUILDING, runScript } from '@relay/redis';
import type { Redis } from 'ioredis';
import { type Deployment, deploymentText } from './deployment.js';
import { CLAIM, LAST_SNAPSHOT, RESULTS_KEY, RESULTS_ORDER, SNAPSHOT } from './registry.script.js';

/** Changes the claim, and makes what is registered the state before the first record of the other log. */
const begin = defineScript(
  'registry-move',
  `
if redis.call('GET', KEYS[1]) ~= ARGV[1] or redis.call('EXISTS', KEYS[3]) == 1 then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
redis.call('SET', KEYS[2], ARGV[3])
redis.call('DEL', unpack(KEYS, 4))
return 1
`,
);
const end = defineScript(
  'registry-moved',
  "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('SET', KEYS[1], ARGV[2]) and 1 or 0",
);

const keys = [CLAIM, REGISTRY_APPLIED, REGISTRY_REBUILDING, SNAPSHOT, LAST_SNAPSHOT, RESULTS_KEY, RESULTS_ORDER];

/** Writes the claim that the state of a version before it stands for. */
export async function takeUp(redis: Redis, held: Deployment): Promise<void> {
  await redis.setnx(CLAIM, deploymentText(held));
}

/**
 * Makes a Redis the view of an empty log, whose registrations only Redis holds until a snapshot is written.
 * @param next the offset that the next record of the other log has
 * @throws Error when the claim has changed, or the view is not whole
 */
export async function beginMove(redis: Redis, from: Deployment, to: Deployment, next: number): Promise<void> {
  const texts = [deploymentText(from), deploymentText({ ...to, moving: true })];
  if ((await runScript(redis, begin, keys, [...texts, next - 1])) !== 1)
    throw new Error(
      'Redis is claimed by another deployment by now, or its registrations are not whole: nothing was moved',
    );
}

/** The other log has the registrations. @throws Error when the claim has changed */
export async function endMove(redis: Redis, from: Deployment, to: Deployment): Promise<void> {
  if ((await runScript(redis, end, [CLAIM], [deploymentText(from), deploymentText(to)])) !== 1)
    throw new Error('Redis is claimed by another deployment by now');
}
