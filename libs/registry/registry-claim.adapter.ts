import { globalKey, REGISTRY_APPLIED, defineScript, REGISTRY_REBUILDING, runScript } from '@relay/redis';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { RegistryLog } from './registry-log.port.js';
import { CLAIM, RESULTS_ORDER, LAST_SNAPSHOT, RESULTS_KEY, SNAPSHOT } from './registry.script.js';

/** Identity of a deployment; a Redis holds the state of one deployment. */
export const Deployment = z.object({
  /** Id that the brokers report; null when they report none. */
  cluster: z.string().nullable(),
  /** The registry topic, which begins with the prefix of all topics. */
  topic: z.string(),
  group: z.string(),
  /** A move to this deployment has begun and not ended: only the command that moves may go on. */
  moving: z.literal(true).optional(),
});
export type Deployment = z.infer<typeof Deployment>;

/** The text that is stored and compared, with its members in one order. */
export const deploymentText = ({ cluster, topic, group, moving }: Deployment): string =>
  JSON.stringify({ cluster, topic, group, moving });

export const deploymentName = ({ cluster, topic, group }: Deployment): string =>
  `Kafka cluster ${cluster ?? 'without an id'}, topic ${topic}, group ${group}`;

/** Redis holds the state of another deployment. Nothing of this one may touch it. */
export class ForeignRedis extends Error {
  override readonly name = 'ForeignRedis';

  constructor(held: Deployment, own: Deployment) {
    super(
      `this Redis belongs to another deployment (${deploymentName(held)}), not to this one (${deploymentName(own)}): ${wayOut(held, own)}`,
    );
  }
}

function wayOut(held: Deployment, own: Deployment): string {
  const command = `\`relay registry move --from-cluster ${held.cluster ?? 'none'}\``;
  return held.moving === true && deploymentText({ ...own, moving: true }) === deploymentText(held)
    ? `a move to it was cut off; stop all roles and run ${command} again`
    : `give each deployment a Redis of its own. To move the other one here, stop all its roles and run ${command}`;
}

/** Key in which versions before the claim stored the name of the registry topic. */
const FORMER_CLAIM = globalKey('registry', 'log');

/** Compares the deployment whose state a Redis holds with this one, before anything is applied, owned or cut. */
export class RegistryClaim {
  /** How often the connection was closed or became ready: it may lead to another Redis then. */
  #connections = 0;
  #comparedAt: number | undefined;
  /** Brokers are asked once for each connection to Redis: callers wait for the answer. */
  #asked: { readonly own: Deployment; readonly at: number } | undefined;
  #text = '';
  #fault: string | undefined;

  /** @param isMove of the command that moves a deployment: it goes on under the claim of a move */
  constructor(
    private readonly redis: Redis,
    private readonly registryLog: RegistryLog,
    private readonly isMove = false,
  ) {
    const doubt = (): void => void (this.#connections += 1);
    redis.on('close', doubt);
    redis.on('ready', doubt);
  }

  /** Why this deployment may do nothing with this Redis; undefined while it may, or nobody has compared. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** The claim as it was last compared; the scripts that change the view compare it again. */
  get text(): string {
    return this.#text;
  }

  /**
   * Resolves at once unless the connection to Redis is new; then once it is known to hold the state of this deployment.
   * @throws ForeignRedis when it does not, Error when the log or Redis cannot be read
   */
  async made(): Promise<void> {
    while (this.#comparedAt !== this.#connections) await this.compare();
  }

  /**
   * Compares the claim with this deployment, and claims a Redis that nobody has claimed.
   * @throws ForeignRedis, Error when the log or Redis cannot be read
   */
  async compare(): Promise<void> {
    const connections = this.#connections;
    try {
      this.#text = await this.#check();
      this.#fault = undefined;
      this.registryLog.claimed(Deployment.parse(JSON.parse(this.#text)).cluster);
    } catch (error) {
      if (error instanceof ForeignRedis) this.#fault = error.message;
      // The brokers at this address may be others at the next look.
      this.#asked = undefined;
      throw error;
    }
    this.#comparedAt = connections;
  }

  /** Why brokers of this cluster are not those of the claim; undefined if they are, or if one of the two has no id. */
  faultOf(cluster: string | null): string | undefined {
    if (this.#text === '' || cluster === null) return undefined;
    const held = Deployment.parse(JSON.parse(this.#text));
    if (held.cluster === null || held.cluster === cluster) return undefined;
    return `the brokers belong to Kafka cluster ${cluster}, and Redis to the deployment of ${deploymentName(held)}`;
  }

  /** The deployment of this process, as its brokers know it. */
  async own(): Promise<Deployment> {
    const { name: topic, group } = this.registryLog;
    const moving = this.isMove ? { moving: true as const } : {};
    return { cluster: await this.registryLog.cluster(), topic, group, ...moving };
  }

  /** Undefined when nobody has claimed this Redis. */
  async held(): Promise<Deployment | undefined> {
    const text = await this.redis.get(CLAIM);
    return text === null ? undefined : Deployment.parse(JSON.parse(text));
  }

  /** Returns the deployment of a state that is older than the claim; undefined if Redis has no such state. */
  async former(): Promise<Deployment | undefined> {
    const { name, group } = this.registryLog;
    const [topic, applied] = await this.redis.mget(FORMER_CLAIM, REGISTRY_APPLIED);
    return topic == null && applied == null ? undefined : { cluster: null, topic: topic ?? name, group };
  }

  /** @returns the text of the claim */
  async #check(): Promise<string> {
    const at = this.#connections;
    if (this.#asked?.at !== at) this.#asked = { own: await this.own(), at };
    const { own } = this.#asked;
    const text = deploymentText(own);
    const isKnown = own.cluster !== null || this.isMove || this.#comparedAt === at;
    for (;;) {
      const held = await this.held();
      if (isKnown && held !== undefined && deploymentText(held) === text) return text;
      await this.#assertSame(held, own);
      if (held !== undefined && deploymentText(held) === text) return text;
      if (held === undefined) await this.#claim(text);
      // Brokers that reported no id before.
      else await this.redis.set(CLAIM, text);
    }
  }

  /** A mistyped prefix must not keep an empty Redis from its owner. @throws Error if the registry topic does not exist */
  async #claim(text: string): Promise<void> {
    await this.registryLog.bounds();
    await this.redis.setnx(CLAIM, text);
  }

  /** Whether Redis, whose claim names no cluster, is the view of this log. @throws ForeignRedis */
  async #assertSame(held: Deployment | undefined, own: Deployment): Promise<void> {
    const former = held ?? (await this.former());
    if (former === undefined) return;
    const { cluster, topic, group, moving } = former;
    const isSame = cluster === null && moving === undefined && topic === own.topic && group === own.group;
    if (!isSame || !(await this.#isInLog())) throw new ForeignRedis(former, own);
  }

  /** Whether the last command that Redis applied is in the log at the offset that Redis stored. */
  async #isInLog(): Promise<boolean> {
    const [applied, [id, at]] = await Promise.all([
      this.redis.get(REGISTRY_APPLIED),
      this.redis.zrange(RESULTS_ORDER, '-1', '-1', 'WITHSCORES'),
    ]);
    const { start, end } = await this.registryLog.bounds();
    if (Number(applied ?? -1) >= end) return false;
    const offset = Number(at);
    if (id === undefined || offset < start) return true;
    let isThere = false;
    await this.registryLog.read(offset, offset + 1, async (commands) => {
      isThere ||= commands.some(({ offset: found, value }) => found === offset && value.includes(`"id":"${id}"`));
    });
    return isThere;
  }
}

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

const movedKeys = [CLAIM, REGISTRY_APPLIED, REGISTRY_REBUILDING, SNAPSHOT, LAST_SNAPSHOT, RESULTS_KEY, RESULTS_ORDER];

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
  if ((await runScript(redis, begin, movedKeys, [...texts, next - 1])) !== 1)
    throw new Error(
      'Redis is claimed by another deployment by now, or its registrations are not whole: nothing was moved',
    );
}

/** Ends the move once the other log has the registrations. @throws Error when the claim has changed */
export async function endMove(redis: Redis, from: Deployment, to: Deployment): Promise<void> {
  if ((await runScript(redis, end, [CLAIM], [deploymentText(from), deploymentText(to)])) !== 1)
    throw new Error('Redis is claimed by another deployment by now');
}
