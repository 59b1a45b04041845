import { globalKey, REGISTRY_APPLIED, defineScript, REGISTRY_REBUILDING, runScript } from '@relay/redis';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { RegistryLog } from './registry-log.port.js';
import { CLAIM, RESULTS_ORDER, LAST_SNAPSHOT, RESULTS_KEY, SNAPSHOT } from './registry.script.js';

/** Identity of a deployment. A Redis has the state of one deployment only. */
export const Deployment = z.object({
  /** Id of the Kafka cluster; null if its brokers report none. */
  cluster: z.string().nullable(),
  /** Name of the registry topic. It begins with the prefix of all topics. */
  topic: z.string(),
  group: z.string(),
  /** Set while Redis is being moved to this deployment. Until the move ends, only the command that moves may continue. */
  moving: z.literal(true).optional(),
});
export type Deployment = z.infer<typeof Deployment>;

/** Returns the text that is stored and compared. Its members are always in the same order. */
export const deploymentText = ({ cluster, topic, group, moving }: Deployment): string =>
  JSON.stringify({ cluster, topic, group, moving });

export const deploymentName = ({ cluster, topic, group }: Deployment): string =>
  `Kafka cluster ${cluster ?? 'without an id'}, topic ${topic}, group ${group}`;

/** Redis has the state of another deployment, so this deployment must not change it. */
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

/** Key in which earlier versions, which had no claim, stored the name of the registry topic. */
const FORMER_CLAIM = globalKey('registry', 'log');

/**
 * Checks that the state in Redis belongs to this deployment, before anything in Redis is changed. The claim is a key in
 * Redis whose value is the identity of the deployment that owns the state.
 */
export class RegistryClaim {
  /** How often the connection was closed or became ready. After that, it may lead to another Redis. */
  #connections = 0;
  #comparedAt: number | undefined;
  /**
   * Identity of this deployment, read from the brokers once for each connection to Redis, because callers wait for the
   * answer.
   */
  #asked: { readonly own: Deployment; readonly at: number } | undefined;
  #text = '';
  #fault: string | undefined;

  /** @param isMove whether this is the command that moves a deployment: it may continue while a move is unfinished */
  constructor(
    private readonly redis: Redis,
    private readonly registryLog: RegistryLog,
    private readonly isMove = false,
  ) {
    const doubt = (): void => void (this.#connections += 1);
    redis.on('close', doubt);
    redis.on('ready', doubt);
  }

  /** Why this deployment may not use this Redis; undefined if it may, or if the claim was not compared yet. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** The claim when it was last compared. The scripts that change the view compare it again. */
  get text(): string {
    return this.#text;
  }

  /**
   * Resolves when it is known that Redis has the state of this deployment. It resolves at once, unless the connection to
   * Redis is new.
   * @throws ForeignRedis if Redis has the state of another deployment, Error if the log or Redis cannot be read
   */
  async made(): Promise<void> {
    while (this.#comparedAt !== this.#connections) await this.compare();
  }

  /**
   * Compares the claim with this deployment. A Redis without a claim is claimed for this deployment.
   * @throws ForeignRedis if Redis has the state of another deployment, Error if the log or Redis cannot be read
   */
  async compare(): Promise<void> {
    const connections = this.#connections;
    try {
      this.#text = await this.#check();
      this.#fault = undefined;
      this.registryLog.claimed(Deployment.parse(JSON.parse(this.#text)).cluster);
    } catch (error) {
      if (error instanceof ForeignRedis) this.#fault = error.message;
      // At the next attempt, other brokers may answer at the same address.
      this.#asked = undefined;
      throw error;
    }
    this.#comparedAt = connections;
  }

  /**
   * Returns why brokers with this cluster id do not belong to the claim; undefined if they do, or if the brokers or the
   * claim have no cluster id.
   */
  faultOf(cluster: string | null): string | undefined {
    if (this.#text === '' || cluster === null) return undefined;
    const held = Deployment.parse(JSON.parse(this.#text));
    if (held.cluster === null || held.cluster === cluster) return undefined;
    return `the brokers belong to Kafka cluster ${cluster}, and Redis to the deployment of ${deploymentName(held)}`;
  }

  /** Returns the identity of this deployment; the cluster id comes from its brokers. */
  async own(): Promise<Deployment> {
    const { name: topic, group } = this.registryLog;
    const moving = this.isMove ? { moving: true as const } : {};
    return { cluster: await this.registryLog.cluster(), topic, group, ...moving };
  }

  /** Returns the deployment that has claimed this Redis; undefined if there is no claim. */
  async held(): Promise<Deployment | undefined> {
    const text = await this.redis.get(CLAIM);
    return text === null ? undefined : Deployment.parse(JSON.parse(text));
  }

  /**
   * Returns the deployment of a state that an earlier version wrote without a claim; undefined if Redis has no such state.
   */
  async former(): Promise<Deployment | undefined> {
    const { name, group } = this.registryLog;
    const [topic, applied] = await this.redis.mget(FORMER_CLAIM, REGISTRY_APPLIED);
    return topic == null && applied == null ? undefined : { cluster: null, topic: topic ?? name, group };
  }

  /**
   * Compares the claim in Redis with this deployment. Stores the claim if Redis has none, and adds the cluster id if the
   * claim has none.
   * @returns the text of the claim
   * @throws ForeignRedis if the claim is of another deployment
   */
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
      // The claim has no cluster id, because the brokers reported none before. It now gets the id.
      else await this.redis.set(CLAIM, text);
    }
  }

  /**
   * Claims Redis for this deployment.
   * @throws Error if the registry topic does not exist. A process with a mistyped topic prefix therefore cannot claim an
   *   empty Redis.
   */
  async #claim(text: string): Promise<void> {
    await this.registryLog.bounds();
    await this.redis.setnx(CLAIM, text);
  }

  /**
   * Checks that Redis, whose claim has no cluster id or is missing, is the view of this log.
   * @throws ForeignRedis if it is not
   */
  async #assertSame(held: Deployment | undefined, own: Deployment): Promise<void> {
    const former = held ?? (await this.former());
    if (former === undefined) return;
    const { cluster, topic, group, moving } = former;
    const isSame = cluster === null && moving === undefined && topic === own.topic && group === own.group;
    if (!isSame || !(await this.#isInLog())) throw new ForeignRedis(former, own);
  }

  /** Returns whether the last command that Redis applied is in the log at the offset that Redis has stored for it. */
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

/** Replaces the claim. Everything that is registered becomes the state before the first record of the other log. */
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

/** Writes the claim for a state that an earlier version wrote without one. */
export async function takeUp(redis: Redis, held: Deployment): Promise<void> {
  await redis.setnx(CLAIM, deploymentText(held));
}

/**
 * Begins a move: Redis becomes the view of the empty log of the other deployment. Until a snapshot is written to this log,
 * only Redis has the registrations.
 * @param next offset of the next record in the other log
 * @throws Error if the claim has changed, or if the view is being rebuilt
 */
export async function beginMove(redis: Redis, from: Deployment, to: Deployment, next: number): Promise<void> {
  const texts = [deploymentText(from), deploymentText({ ...to, moving: true })];
  if ((await runScript(redis, begin, movedKeys, [...texts, next - 1])) !== 1)
    throw new Error(
      'Redis is claimed by another deployment by now, or its registrations are not whole: nothing was moved',
    );
}

/** Ends the move after the other log has the registrations. @throws Error if the claim has changed */
export async function endMove(redis: Redis, from: Deployment, to: Deployment): Promise<void> {
  if ((await runScript(redis, end, [CLAIM], [deploymentText(from), deploymentText(to)])) !== 1)
    throw new Error('Redis is claimed by another deployment by now');
}
