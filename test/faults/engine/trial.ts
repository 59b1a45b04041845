import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { Shards } from '@relay/redis';
import { App, type Start } from '../../support/app.js';
import { Client } from '../../support/client.js';
import { Receiver } from '../../support/receiver.js';
import type { FailoverRedis } from '../../support/failover-redis.js';
import { RedisCluster } from '../../support/redis-cluster.js';
import type { Servers } from '../../support/servers.js';
import { Stack } from '../../support/stack.js';
import { until } from '../../support/until.js';
import { keepEnabled } from './enabling.js';
import { registerEndpoints, RETRY_SCHEDULE, type Endpoint } from './endpoints.js';
import { ENVELOPES, type Fault, type Interruption, type KillPoint } from './fault.js';
import { killedAt } from './kill-at.js';
import { Load, type Answered } from './load.js';
import { Random } from './random.js';
import { goesOn, isDelivering } from './recovery.js';
import { shardsOf } from '../../support/shards-of.js';
import { StruckShard } from './struck-shard.js';
import { there } from './there.js';
import { Turns } from './turns.js';

const PRELOADED = ['kill-point.mjs', 'redirect.mjs'].map(
  (name) => pathToFileURL(join(import.meta.dirname, '..', name)).href,
);
/** What a load balancer takes to see that an ingress is not ready. */
const REST_MS = 1_000;

/** From its start a worker takes longer than this until its first request to an endpoint. */
const FIRST_REQUEST_MS = 300;

/** One run of a fault: its own relay on the servers, its endpoints, its load, and what the fault does to them. */
export class Trial {
  readonly interruptions: Interruption[] = [];
  readonly recoveriesMs: number[] = [];
  /** When an interruption of the ingress was over. */
  returnedAt: number | undefined;
  readonly ingresses: App[] = [];
  readonly workers: App[] = [];
  /** The shard that the fault is about, once it is. */
  struck: StruckShard | undefined;
  readonly #apps: App[] = [];
  readonly #points = new Map<App, string>();
  #started = 0;
  #hasEnded = false;
  readonly #delay = monitorEventLoopDelay({ resolution: 10 });
  readonly #tasks: (() => unknown)[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), 'relay-fault-'));
  #partner: Client | undefined;
  #load: Load | undefined;
  #turns: Turns | undefined;
  endpoints: Endpoint[] = [];
  readonly random: Random;
  readonly shards: Shards;
  /** Over the settings of one role, from its next start on. */
  readonly env: { readonly ingress: Record<string, string>; readonly worker: Record<string, string> } = {
    ingress: {},
    worker: {},
  };

  private constructor(
    readonly fault: Fault,
    readonly seed: string,
    readonly servers: Servers,
    readonly stack: Stack,
    readonly receiver: Receiver,
    /** Its own Redis, where it has one that has replicas. */
    private readonly ownRedis: FailoverRedis | undefined,
  ) {
    this.random = new Random(seed);
    this.shards = ownRedis === undefined ? stack.shards : shardsOf(stack.env);
  }

  static async open(fault: Fault, seed: string, servers: Servers): Promise<Trial> {
    const copies = fault.cluster === true ? '3' : '1';
    const redis = await (fault.redisShards === undefined ? fault.redis?.() : RedisCluster.start(fault.redisShards));
    const settings = { RETRY_SCHEDULE, KAFKA_TOPIC_REPLICATION: copies, ...redis?.settings, ...fault.settings };
    const stack = await Stack.open(settings, servers.envFile);
    const trial = new Trial(fault, seed, servers, stack, await Receiver.open(), redis);
    try {
      await fault.prepare?.(trial);
      await trial.#begin();
      return trial;
    } catch (error) {
      await trial.close();
      throw error;
    }
  }

  async #begin(): Promise<void> {
    const { ingresses = 1, workers = 1, rate = 100, envelopes = ENVELOPES } = this.fault;
    const start = (role: 'ingress' | 'worker', count: number): Promise<App[]> =>
      Promise.all(Array.from({ length: count }, () => this.#start(role)));
    const [all, readers] = await Promise.all([start('ingress', ingresses), start('worker', workers)]);
    this.ingresses.push(...all);
    this.workers.push(...readers);
    this.#partner = await this.client('partner', 'acme');
    this.endpoints = await registerEndpoints(this.#partner, this.receiver, this.seed, this.fault.longShare);
    void keepEnabled(this.#partner, this.endpoints, () => this.#hasEnded);
    const { clientId, clientSecret } = await this.client('source', 'billing');
    this.#turns = new Turns(all.map((app) => ({ app, client: new Client(app.url, clientId, clientSecret) })));
    this.#load = new Load(this.#turns.next, new Random(`${this.seed}:load`), rate, envelopes);
    this.#delay.enable();
    this.#load.begin();
    await this.#load.more(200);
  }

  /** The longest time for which this process, which is the source and the endpoints, did not run. */
  get heldUpMs(): number {
    return Math.round(this.#delay.max / 1e6);
  }

  get failover(): FailoverRedis {
    return there(this.ownRedis, 'this fault has no Redis with a replica');
  }

  get ingress(): App {
    return there(this.ingresses[0], 'no ingress has been started');
  }

  get worker(): App {
    return there(this.workers[0], 'no worker has been started');
  }

  get partner(): Client {
    return there(this.#partner, 'there is no partner yet');
  }

  get hasLoad(): boolean {
    return this.#load !== undefined;
  }

  get load(): Load {
    return there(this.#load, 'the load has not begun');
  }

  /** Every process started in this run. */
  get apps(): readonly App[] {
    return this.#apps;
  }

  async client(kind: 'partner' | 'source', name: string): Promise<Client> {
    const issued = (await this.stack.client(kind, name)) as {
      clientId: string;
      clientSecret: string;
    };
    return new Client(this.ingress.url, issued.clientId, issued.clientSecret);
  }

  /** Starts one more worker beside those that run. */
  async addWorker(): Promise<App> {
    const worker = await this.#start('worker');
    this.workers.push(worker);
    return worker;
  }

  async #start(role: 'ingress' | 'worker'): Promise<App> {
    this.#started += 1;
    const file = join(this.#folder, `${role}-${this.#started}`);
    const own = (): Record<string, string> => ({ ...this.env[role], KILL_POINT_FILE: file });
    const start: Start = {
      nodeOptions: PRELOADED.map((url) => `--import=${url}`),
      get env() {
        return own(); // what was changed meanwhile holds from the next start on
      },
    };
    const app = await App.launch(role, this.stack.env, start);
    this.#points.set(app, file);
    this.#apps.push(app);
    await app.ready(60_000);
    return app;
  }

  /** A path for what a fault needs in a file, gone after the run. */
  file(name: string): string {
    return join(this.#folder, name);
  }

  /** What a role connects to at a port goes to another one, from its next start on. */
  redirect(role: 'ingress' | 'worker', from: number, to: number): void {
    this.env[role]['REDIRECT'] = `${from}:${to}`;
  }

  /** Some time while the load goes on. */
  async anyMoment(fromMs = 300, toMs = 2_000): Promise<void> {
    await delay(this.random.int(fromMs, toMs));
  }

  /** The fault is about one shard, whose interruptions touch nothing else. */
  strike(number: number, stopsAll = false): StruckShard {
    this.struck = new StruckShard(this, number, stopsAll);
    return this.struck;
  }

  /** Something was interrupted now, or from `since` to `at`. */
  interrupted(at = performance.now(), since = at): void {
    this.interruptions.push({ at, since, lostWrites: false, ...this.#struckOnly });
  }

  /** Redis is back without what was written after that time. */
  wentBack(since: number): void {
    this.interruptions.push({ at: performance.now(), since, lostWrites: true, ...this.#struckOnly });
  }

  get #struckOnly(): Pick<Interruption, 'has'> {
    return this.struck === undefined ? {} : { has: this.struck.has };
  }

  /** Tells a process to end, an ingress once the source posts elsewhere, and starts it again at once. */
  async restart(app: App): Promise<{ code: number | null; tookMs: number }> {
    const isOneOfSeveral = app.role === 'ingress' && this.ingresses.length > 1;
    if (isOneOfSeveral) this.#turns?.rest(app);
    if (isOneOfSeveral) await delay(REST_MS);
    const at = performance.now();
    const code = await app.stop();
    const tookMs = performance.now() - at;
    app.start();
    await app.ready(60_000);
    this.#turns?.goOn(app);
    return { code, tookMs };
  }

  /** Kills a process with SIGKILL and starts it again at once. */
  async kill(app: App): Promise<void> {
    const since = performance.now();
    await app.kill();
    await this.#comesBack(app, since);
  }

  /** Lets a process kill itself at a step and starts it again at once. @returns the envelope at whose step it died, if it was one's */
  async killAt(app: App, point: KillPoint): Promise<string> {
    const calls = point.calls ?? this.random.int(1, 8);
    const { diedAt, envelopeId } = await killedAt(app, this.#points.get(app) ?? '', { ...point, calls });
    await this.#comesBack(app, diedAt);
    return envelopeId;
  }

  /** @param since when it was killed; that it has ended is known a little later */
  async #comesBack(app: App, since: number): Promise<void> {
    const at = app.endedAt;
    // What comes until then was still sent by the dead one: a new one takes longer to send anything.
    this.interrupted(performance.now() + FIRST_REQUEST_MS, since);
    app.start();
    await app.ready(60_000);
    if (app.role === 'worker') return this.heldIsDelivered(at);
    this.returnedAt = performance.now();
    return this.accepts(at);
  }

  /** Waits for the 202 of a request sent after that time. */
  async accepts(at = performance.now()): Promise<void> {
    const isNew = (answer: Answered): boolean => answer.status === 202 && answer.at - answer.tookMs > at;
    await this.recovers('the ingress answers 202 again', () => this.load.answers.some(isNew), at);
  }

  /** Waits for the first delivery of what ran at that time; of anything when nothing ran. */
  async heldIsDelivered(at: number): Promise<void> {
    const isGoingOn = goesOn(this.endpoints, at);
    await this.recovers('something that ran at the interruption is delivered', isGoingOn, at);
  }

  /** A store is back: waits for the first delivery after it. */
  async returned(): Promise<void> {
    const at = performance.now();
    this.returnedAt = at;
    await this.recovers('something is delivered after the return', () => isDelivering(this.endpoints, at), at);
  }

  /** Waits until it goes on and keeps how long that took: too long where it does not, and then the run counts what is lost. */
  async recovers(what: string, condition: (at: number) => boolean, at = performance.now()): Promise<void> {
    await until(what, () => condition(at), { withinMs: 90_000 }).catch(() => undefined);
    this.recoveriesMs.push(Math.round(performance.now() - at));
  }

  /** Done after everything else has ended. */
  atEnd(task: () => unknown): void {
    this.#tasks.push(task);
  }

  async close(): Promise<void> {
    this.#hasEnded = true;
    await Promise.all(this.#apps.map((app) => app.kill()));
    this.#delay.disable();
    await this.receiver.close();
    // Servers that do not answer any more keep what is left; the next run takes another corner of them.
    if (this.fault.spoils !== true) await this.stack.close().catch(() => this.stack.abandon());
    else this.stack.abandon();
    for (const task of this.#tasks) await task();
    if (this.ownRedis !== undefined) for (const connection of this.shards.connections) connection.disconnect();
    await this.ownRedis?.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
