import { globalKey, REGISTRY_APPLIED } from '@relay/redis';
import type { Redis } from 'ioredis';
import { Deployment, deploymentName, deploymentText, ForeignRedis } from './deployment.js';
import type { RegistryLog } from './registry-log.port.js';
import { CLAIM, RESULTS_ORDER } from './registry.script.js';

/** Where versions before the claim held the name of the registry topic. */
const FORMER_CLAIM = globalKey('registry', 'log');

/** Whose state a Redis holds: compared before anything is applied to it, owned or cut. */
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

  /** Why brokers of this cluster are not those of the claim; undefined where they are, or one of both has no id. */
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

  /** What the state of a version before the claim stands for; undefined where Redis has none. */
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

  /** A mistyped prefix must not keep an empty Redis from its owner. @throws Error where the topic of the registry does not exist */
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

  /** Whether the last command that Redis remembers stands in the log where Redis has it from. */
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
