import { constants, setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { App } from '../support/app.js';
import { Client } from '../support/client.js';
import { MemoryLimit } from '../support/memory-limit.js';
import { Receiver } from '../support/receiver.js';
import { Servers } from '../support/servers.js';
import { Stack, type Settings } from '../support/stack.js';
import { until } from '../support/until.js';
import { Bystanders, p99, type Asked } from './bystanders.js';
import { Caller } from './caller.js';
import { connectionsTo, forgetPeak, MIB, peakOf, redisFigures, rssOf, type RedisFigures } from './figures.js';
import { Verdict } from './verdict.js';

/** `npm run test:abuse`: every attack in full, and how long the others wait is judged. Else so much that a minute is enough. */
export const IS_FULL = process.env['ABUSE'] === 'full';
export const size = (full: number, bounded: number): number => (IS_FULL ? full : bounded);

export interface Attack {
  readonly name: string;
  /** What the bystanders' p99 may come to, where `WAIT_MS` cannot be had. */
  readonly maxWaitMs?: number;
  readonly run: (arena: Arena, verdict: Verdict) => Promise<void>;
}

/** The chart's limit for an ingress. */
const LIMIT = 512 * MIB;
/**
 * What memory may differ by afterwards. A process that just started grows to so much by itself: the first attack with large answers
 * fills V8's young generation, 3 x 32 MiB, which is not given back and which later attacks use again. No limit holds the worker's heap.
 */
const RSS_SLACK = 64 * MIB;
const RSS_OF_ANY = { ingress: 224 * MIB, worker: 320 * MIB };
const REDIS_SLACK = 10 * MIB;
/** What the bystanders' p99 may come to: they share two cores with both stores and the callers (docs/adr/0019). */
const WAIT_MS = 100;
/** For a caller whose valid requests keep the stores busy, which share two cores with everything else here. */
export const STORES_BUSY_MS = 200;
/** A worker that says one of these has stopped reading, or has lost a store, for everybody. */
const STOPPED =
  /"(reading\.paused|queue\.paused|store\.refused|breakers\.away|parking\.(?:uncounted|paused)|redis\.away|seen\.away)"/;

/** Windows that end within the run, and quotas that a short attack reaches; what is not named here stands at its default. */
const SETTINGS: Settings = {
  HISTORY_WINDOW: '1m',
  RETRY_SCHEDULE: '1s,2s,3s',
  SESSION_TTL: '60s',
  SESSIONS_PER_PARTNER: '1000',
  TOKEN_RATE_LIMIT: '60',
  INTROSPECTION_RATE_LIMIT: '60',
};

/** A relay with a Kafka and a Redis of its own, the ingress under the chart's limit, and callers who do nothing wrong. */
export class Arena {
  #quiet: RedisFigures = { usedBytes: 0, commands: 0, outBytes: 0 };

  private constructor(
    readonly servers: Servers,
    readonly stack: Stack,
    readonly ingress: App<'ingress'>,
    readonly worker: App<'worker'>,
    readonly receiver: Receiver,
    private readonly limit: MemoryLimit | undefined,
    private readonly bystanders: Bystanders,
  ) {}

  static async open(): Promise<Arena> {
    const servers = await Servers.start();
    const stack = await Stack.open(SETTINGS, servers.envFile);
    const limit = MemoryLimit.create(LIMIT);
    const [ingress, worker, receiver] = await Promise.all([
      App.start('ingress', stack.env, { limit }),
      App.start('worker', stack.env),
      Receiver.open(),
    ]);
    const [source, partner] = await Promise.all(
      (['source', 'partner'] as const).map((kind) => clientOf(stack, ingress, kind, 'bystander')),
    );
    const endPointUrl = receiver.url('/bystander');
    const webhookId = (await partner?.register({ eventType: 'task.created', endPointUrl, apiKey: 'k' })) ?? '';
    const tokens = { source: (await source?.token()) ?? '', partner: (await partner?.token()) ?? '' };
    const pace = { postsPerSecond: size(50, 20), looksPerSecond: size(4, 2) };
    const bystanders = Bystanders.begin({ url: ingress.url, webhookId, ...tokens, ...pace });
    const arena = new Arena(servers, stack, ingress, worker, receiver, limit, bystanders);
    await arena.#settle();
    stepBack();
    return arena;
  }

  async close(): Promise<void> {
    await this.bystanders.end();
    await Promise.all([this.ingress.stop(), this.worker.stop()]);
    this.limit?.remove();
    await this.receiver.close();
    await this.stack.close();
    await this.servers.end();
  }

  client(kind: 'partner' | 'source', name: string, ...args: string[]): Promise<Client> {
    return clientOf(this.stack, this.ingress, kind, name, ...args);
  }

  /** Somebody with these headers, and without the manners of `Client`. */
  caller(headers: Readonly<Record<string, string>> = {}): Caller {
    return new Caller(this.ingress.url, headers);
  }

  async callerAs(client: Client): Promise<Caller> {
    return this.caller({ authorization: `Bearer ${await client.token()}` });
  }

  /** Records that the registry has ever held. */
  registryEnd(): Promise<number> {
    return this.stack.topic('relay.registry').count();
  }

  kafkaConnections(): number {
    return connectionsTo(this.servers.port('kafka'));
  }

  redis(): Promise<RedisFigures> {
    return redisFigures(this.stack.redis);
  }

  /** What a piece of an attack took from Redis, beside what everybody else took meanwhile. */
  async redisCost(piece: () => Promise<void>): Promise<{ commands: number; outBytes: number }> {
    const [before, since] = [await this.redis(), performance.now()];
    await piece();
    const [after, seconds] = [await this.redis(), (performance.now() - since) / 1_000];
    return {
      commands: Math.round(after.commands - before.commands - this.#quiet.commands * seconds),
      outBytes: Math.round(after.outBytes - before.outBytes - this.#quiet.outBytes * seconds),
    };
  }

  /** Runs an attack beside the bystanders and judges what it did to everybody else. */
  async judge({ run, maxWaitMs }: Attack): Promise<Verdict> {
    const verdict = new Verdict();
    await this.#revive();
    const [logged, kills, { usedBytes }] = [this.worker.log.length, this.limit?.kills() ?? 0, await this.redis()];
    const [pids, rss] = [this.#pids(), this.#rss()];
    for (const pid of pids) forgetPeak(pid);
    await this.bystanders.take();
    try {
      await run(this, verdict);
    } catch (error) {
      verdict.none('faults of the attack', [String(error)]);
    }
    // What it took in may keep it busy for longer than the attack lasts, or kill it then.
    await within(60_000, async () => (await this.ingress.health()) !== undefined || !this.ingress.isRunning);
    const asked = await this.bystanders.take();
    this.#judgeMemory(verdict, pids, kills);
    this.#judgeBystanders(verdict, asked, maxWaitMs);
    await this.#judgeReturn(verdict, rss, usedBytes);
    verdict.none('stops of the worker', this.#stops(logged));
    return verdict;
  }

  #judgeMemory(verdict: Verdict, pids: readonly number[], kills: number): void {
    for (const [n, app] of this.#apps.entries()) {
      const lives = app.pid === pids[n] && rssOf(app.pid) > 0;
      verdict.isTrue(`the ${app.role} lives`, lives);
      if (!lives) verdict.tell(`last words of the ${app.role}`, app.log.slice(-30).join('\n'));
    }
    if (this.limit === undefined) verdict.atMost('MiB of the ingress', peakOf(this.ingress.pid) / MIB, LIMIT / MIB);
    else verdict.atMost('kills for memory', this.limit.kills() - kills, 0);
    verdict.tell('peak MiB of the ingress', peakOf(this.ingress.pid) / MIB);
  }

  #judgeBystanders(verdict: Verdict, { times, failed }: Asked, allowed = WAIT_MS): void {
    verdict.none("bystanders' requests that failed", failed);
    verdict.tell("bystanders' answers", times.length);
    // Beside other specs the machine decides how long anybody waits.
    if (IS_FULL) verdict.atMost("bystanders' p99 in ms", p99(times), allowed);
    else verdict.tell("bystanders' p99 in ms", p99(times));
  }

  async #judgeReturn(verdict: Verdict, rss: readonly number[], usedBytes: number): Promise<void> {
    const apps = this.#apps;
    const bounds = rss.map((before, n) => Math.max(before, RSS_OF_ANY[apps[n]?.role ?? 'ingress']) + RSS_SLACK);
    await within(60_000, () => this.#rss().every((bytes, n) => bytes <= (bounds[n] ?? 0)));
    for (const [n, bytes] of this.#rss().entries())
      verdict.atMost(`MiB of the ${apps[n]?.role} afterwards`, bytes / MIB, (bounds[n] ?? 0) / MIB);
    await within(size(60_000, 15_000), async () => (await this.redis()).usedBytes <= usedBytes + REDIS_SLACK);
    verdict.atMost('MiB more in Redis', ((await this.redis()).usedBytes - usedBytes) / MIB, REDIS_SLACK / MIB);
    const missing = (): string[] => {
      const arrived = new Set(this.receiver.delivered('/bystander'));
      return [...this.bystanders.accepted].filter((id) => !arrived.has(id));
    };
    await within(60_000, () => missing().length === 0);
    verdict.none("bystanders' envelopes that did not arrive", missing());
  }

  #stops(since: number): string[] {
    return this.worker.log.slice(since).flatMap((line) => STOPPED.exec(line)?.[1] ?? []);
  }

  /** What an attack has killed starts again for the next one. */
  async #revive(): Promise<void> {
    for (const app of this.#apps.filter(({ isRunning }) => !isRunning)) {
      app.start();
      await app.ready();
      comeForward(app.pid);
    }
  }

  /** Bystanders alone: what the processes need by themselves is there, and the run's own baseline. */
  async #settle(): Promise<void> {
    await this.bystanders.during(size(10_000, 2_000));
    const before = await this.redis();
    const ms = size(20_000, 3_000);
    const { times } = await this.bystanders.during(ms);
    const after = await this.redis();
    this.#quiet = {
      usedBytes: 0,
      commands: ((after.commands - before.commands) * 1_000) / ms,
      outBytes: ((after.outBytes - before.outBytes) * 1_000) / ms,
    };
    process.stdout.write(`bystanders alone: ${times.length} answers, p99 ${p99(times).toFixed(1)} ms\n`);
  }

  get #apps(): readonly App[] {
    return [this.ingress, this.worker];
  }

  readonly #pids = (): number[] => this.#apps.map(({ pid }) => pid);
  readonly #rss = (): number[] => this.#pids().map(rssOf);
}

async function clientOf(
  stack: Stack,
  ingress: App,
  kind: 'partner' | 'source',
  name: string,
  ...args: string[]
): Promise<Client> {
  const made = (await stack.client(kind, name, ...args)) as {
    clientId: string;
    clientSecret: string;
  };
  return new Client(ingress.url, made.clientId, made.clientSecret);
}

/** Who attacks has machines of their own: here they get what the relay, its stores and the bystanders leave of this one. */
function stepBack(): void {
  if (IS_FULL) setPriority(constants.priority.PRIORITY_LOW);
}

/** A process started later begins with our priority. */
function comeForward(pid: number): void {
  if (IS_FULL) setPriority(pid, constants.priority.PRIORITY_NORMAL);
}

/** Waits for what is judged afterwards: nothing is thrown. */
async function within(ms: number, holds: () => boolean | Promise<boolean>): Promise<void> {
  await until('it holds', holds, { withinMs: ms }).catch(() => delay(0));
}
