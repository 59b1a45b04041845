import { deliveryId } from '@relay/delivery';
import type { DeliveryJob } from '@relay/jobs';
import { logRecordOf } from '@relay/kafka';
import type { RetryQueue } from '@relay/retry';
import { ThrottledLog } from '@relay/telemetry';
import type { RedisWebhookView, Webhook } from '@relay/webhooks';
import { MemoryRetryQueue } from '@relay/testing';
import type { Kafka } from 'kafkajs';
import { Registry } from 'prom-client';
import { Attempts } from '../../apps/worker/src/delivery/attempts.js';
import { AttemptLog, AttemptReports } from '../../apps/worker/src/delivery/attempt-reports.js';
import type { DeliveryDispatcher } from '../../apps/worker/src/delivery/delivery-dispatcher.js';
import type { AttemptSlots } from '../../apps/worker/src/delivery/attempt-slots.js';
import { aDispatcher } from '../../apps/worker/src/delivery/spec-dispatcher.js';
import { DeliveryMetrics } from '../../apps/worker/src/metrics/delivery-metrics.js';
import { EventReporter } from '../../apps/worker/src/reporting/event-reporter.js';
import { EnvelopeLookup, FanOutConsumer, Recipients } from '../../apps/worker/src/fan-out/fan-out.consumer.js';
import { SkippedRecords } from '../../apps/worker/src/fan-out/skipped-records.js';
import { RunningEnvelopes } from '../../apps/worker/src/fan-out/running-envelopes.js';
import { FetchWatch } from '../../apps/worker/src/log/consumer-watch.js';
import { KafkaLogStrategy } from '../../apps/worker/src/log/kafka-log.strategy.js';
import { LOG_CHUNK, type LogChunk } from '../../apps/worker/src/log/batch.js';
import type { LogArchive } from '../../apps/worker/src/log/log-archive.adapter.js';
import { LogReader } from '../../apps/worker/src/log/log-reader.js';
import { ReadingPause } from '../../apps/worker/src/log/reading-pause.js';
import { CatchUp } from '../../apps/worker/src/catch-up/catch-up.js';
import { CatchUpCandidates } from '../../apps/worker/src/catch-up/catch-up-candidates.js';
import { CatchUpDeliveries } from '../../apps/worker/src/catch-up/catch-up-deliveries.js';
import { CatchUpRecords, PassReader } from '../../apps/worker/src/catch-up/pass-reader.js';
import type { ParkingRule } from '../../apps/worker/src/parking/parking-rule.js';
import { ReplayOrders } from '../../apps/worker/src/replays/replay-orders.js';
import { Connection } from './connection.js';
import { RemoteEndpoints, RemoteOrders, RemoteProgress, RemotePublisher, RemoteQueue } from './remote-stores.js';
import { APPLIED, SimulatedConsumer, TOPIC } from './simulated-group.js';
import type { World } from './world.js';
import { EventTypes } from '../../libs/events/event-types.js';

const NEVER_MS = 2_000_000_000;
const POLICY = { schedule: [5_000, 5_000, 5_000], horizonMs: 96 * 3_600_000 };
/** A queued attempt has a signal, which its lock may raise; a straight one has none. */
const FROM_QUEUE = new AbortController().signal;
const metrics = new DeliveryMetrics(new Registry());

interface CatchUpFakes {
  readonly rule: Pick<ParkingRule, 'isDue' | 'room'>;
  readonly pause: ReadingPause;
  readonly webhooks: Pick<RedisWebhookView, 'refresh' | 'find'>;
  readonly log: ThrottledLog;
}
type Range = Parameters<LogArchive['read']>[0];
type Take = Parameters<LogArchive['read']>[1];

/** One worker process: the product's own classes over connections that a history makes slow or breaks. */
export class SimulatedWorker {
  /** To each shard, for scripts and for the queue. */
  readonly #redis: readonly Connection[];
  readonly #queueRedis: readonly Connection[];
  readonly kafka: Connection;
  readonly consumer: SimulatedConsumer;
  readonly reader: LogReader;
  readonly #dispatcher: DeliveryDispatcher;
  readonly #slots: AttemptSlots;
  readonly #attempts: Attempts;
  readonly #queue: RetryQueue;
  readonly #catchUp: CatchUp;
  readonly #orders: ReplayOrders;
  /** The event types that this process has heard of. */
  readonly #types = new EventTypes();
  #heard = 0;
  isAlive = true;

  constructor(
    private readonly world: World,
    readonly member: number,
  ) {
    const trace = (line: string): void => world.trace(line);
    this.#redis = world.states.map((_, shard) => new Connection(`worker ${member} redis ${shard}`, false, trace));
    this.#queueRedis = world.states.map((_, shard) => new Connection(`worker ${member} queue ${shard}`, true, trace));
    this.kafka = new Connection(`worker ${member} kafka`, false, trace);
    this.consumer = new SimulatedConsumer(world.group, member, trace, {
      counted: () => world.rules.mayOwn(member),
      left: () => world.left(this),
      cameBack: () => world.cameBack(this),
    });
    this.hear();
    const log = new ThrottledLog(world.log);
    const progress = new RemoteProgress(this, world.rules, world.states.map(world.progressOf));
    const queue = (this.#queue = new RemoteQueue(
      this,
      world.states.map((state) => new MemoryRetryQueue(state)),
    ));
    const publisher = new RemotePublisher(this.kafka, world);
    const attemptLog = new AttemptLog(new EventReporter(publisher, 'relay.delivery-attempts', log, NEVER_MS), {
      of: () => ({ delivered: () => undefined, failed: () => undefined, answered: () => undefined }),
    });
    const sender = new RemoteEndpoints(this, world);
    const reports = new AttemptReports(attemptLog, metrics, world.log, { attempted: () => undefined });
    this.#attempts = new Attempts(sender, { policy: POLICY, version: '1' }, reports, { isDue: () => false });
    const notBefore = ({ id, version }: Webhook): number | undefined =>
      world.webhooks.find(id)?.version === version ? undefined : Date.now();
    const { dispatcher, slots } = aDispatcher({
      limits: { total: 4, perEndpoint: 2, maxWaitMs: 250 },
      bounds: { load: 8, waiting: 4 },
      attempts: this.#attempts,
      queue,
      log,
      rule: { notBefore },
    });
    [this.#dispatcher, this.#slots] = [dispatcher, slots];
    const noLoad = { read: async () => ({ memory: { used: 0, max: 0 }, queued: 0 }) };
    const pause = new ReadingPause(noLoad, { QUEUE_LIMIT: 1 }, world.log, new Registry());
    const rule: Pick<ParkingRule, 'isDue' | 'notice' | 'room'> = {
      isDue: ({ id, status }: Webhook) => world.congested.has(id) || status === 'disabled',
      notice: () => undefined,
      room: ({ id, status }: Webhook) => (world.congested.has(id) || status === 'disabled' ? 0 : 100),
    };
    const webhooks = {
      refresh: async () => undefined,
      refreshTo: async () => undefined,
      strangers: async () => new Set<readonly string[]>(),
      find: (id: string) => world.webhooks.find(id),
      matching: (type: string, audience: readonly string[]) => world.webhooks.matching(type, audience),
    };
    const prefix = { KAFKA_TOPIC_PREFIX: '' };
    const running = new RunningEnvelopes(log);
    const fanOut = new FanOutConsumer(
      new EnvelopeLookup(progress, webhooks, prefix, running, log),
      new Recipients(webhooks, rule, progress, queue, log),
      dispatcher,
      running,
      new SkippedRecords(publisher, queue, log, metrics, { count: () => undefined }),
    );
    const topics = (): string[] => [TOPIC, APPLIED].filter((type) => this.#types.is('known', type));
    this.reader = new LogReader(progress, world.group.bounds, world.group.topicIds, world.log, {
      groupId: 'g',
      topics,
      flushEveryMs: NEVER_MS,
      commitEveryMs: NEVER_MS,
      compareEveryMs: NEVER_MS,
      shards: world.states.length,
    });
    const kafka = { consumer: () => this.consumer.asConsumer } as unknown as Kafka;
    const options = {
      deployment: 'relay.registry',
      groupId: 'g',
      topics,
      onTopics: (changed: () => void) => this.#types.onChange(changed),
      onDead: () => undefined,
    };
    const strategy = new KafkaLogStrategy(kafka, this.reader, pause, options, new FetchWatch());
    strategy.addHandler(LOG_CHUNK, (chunk: LogChunk) => fanOut.take(chunk), true);
    void strategy.listen(() => undefined);
    const orders = new RemoteOrders(this.redis(0), world.replays);
    this.#orders = new ReplayOrders(orders, this.reader, { find: () => undefined }, prefix, log);
    this.#catchUp = this.#catchUpWith(queue, { rule, pause, webhooks, log });
  }

  #catchUpWith(queue: RetryQueue, { rule, pause, webhooks, log }: CatchUpFakes): CatchUp {
    const { world } = this;
    const counts = { of: () => ({ deliveries: 0, bytes: 0 }), added: () => undefined };
    const candidates = new CatchUpCandidates(webhooks, rule, counts, { isPaused: () => false }, pause);
    const seen = {
      find: (ids: readonly string[]) =>
        this.redis(0).call('looks for conflicts', async () => ids.map((id) => world.stateOf(id).now.marks.get(id))),
    };
    const failed = {
      of: async <T>(found: readonly T[]) => found.map((each) => ({ ...each, letters: [] })),
      replay: async () => false,
    };
    const records = new CatchUpRecords(webhooks, seen, failed, queue, { KAFKA_TOPIC_PREFIX: '' });
    const throttle = {
      pass: (run: (begun: () => void) => Promise<void>) => run(() => undefined),
      next: async () => undefined,
    };
    const archive = {
      lowest: async () => 0,
      read: async ({ partition, from, end }: Range, take: Take): Promise<void> => {
        const messages = await this.kafka.call(`reads ${partition}/${from} to ${end}`, async () =>
          world.group.log[partition]?.slice(from, end),
        );
        await take((messages ?? []).map(logRecordOf), []);
      },
    };
    const passes = new PassReader(archive, throttle, webhooks, records, { expired: () => undefined });
    const dispatcher: Pick<DeliveryDispatcher, 'room' | 'dispatch'> = {
      room: () => this.#dispatcher.room(),
      dispatch: (delivery) => {
        world.endpoints.caughtUp(delivery.webhook.url, delivery.record.envelope.bytes.toString());
        this.#dispatcher.dispatch(delivery);
      },
    };
    const deliveries = new CatchUpDeliveries(candidates, throttle, dispatcher, failed, queue);
    return new CatchUp(this.reader, candidates, passes, deliveries, log);
  }

  /** Hears which types an operator applied or archived; the worker then follows by itself. */
  hear(): void {
    const { types } = this.world;
    if (!this.isAlive || this.#heard === types.version) return;
    this.#heard = types.version;
    this.#types.replace({ applied: [types.applied(APPLIED)].filter((type) => type !== undefined) });
  }

  /** Looks whether parked webhooks can be caught up and replays delivered. */
  catchUp(): void {
    if (this.isAlive) this.#catchUp.look();
  }

  /** Looks which replays are ordered. */
  lookForOrders(): void {
    if (this.isAlive) void this.#orders.look();
  }

  redis(shard: number): Connection {
    return this.#redis[shard] as Connection;
  }

  queueRedis(shard: number): Connection {
    return this.#queueRedis[shard] as Connection;
  }

  line(name: 'redis' | 'queueRedis' | 'kafka', shard: number): Connection {
    return name === 'kafka' ? this.kafka : this[name](shard);
  }

  get connections(): Connection[] {
    return [...this.#redis, ...this.#queueRedis, this.kafka];
  }

  get isQuiet(): boolean {
    return this.connections.every((connection) => connection.isQuiet);
  }

  /** As the start of the worker does at each `ready` of the connection for its scripts; Kafka's are never away long. */
  reconnect(which: 'redis' | 'queueRedis' | 'both', shard: number): void {
    if (!this.isAlive) return;
    this.kafka.reconnect();
    if (which !== 'redis') this.queueRedis(shard).reconnect();
    if (which === 'queueRedis' || this.redis(shard).isUp) return;
    this.redis(shard).reconnect();
    this.world.rules.mayOwn(this.member, shard);
    this.reader.reconnected(this.#redis.length === 1 ? undefined : shard);
  }

  reconnectAll(): void {
    for (const shard of this.#redis.keys()) this.reconnect('both', shard);
  }

  /** A heartbeat, or what takes its place after the group was divided anew: joining it. */
  beat(): void {
    if (this.isAlive) this.consumer.beat();
  }

  /** Lets everything on its way arrive and be answered until nothing is left. */
  async run(): Promise<void> {
    if (!this.isAlive) return;
    for (let turns = 0; turns < 30 && !this.isQuiet; turns += 1) {
      for (const connection of this.connections) {
        connection.arrive();
        connection.answer();
      }
      await this.world.turn();
    }
  }

  /** A quiet while: what is on its way gets through, and the timers of the log's reader flush and commit. */
  async pass(): Promise<void> {
    await this.run();
    void this.reader.flush();
    await this.run();
    void this.reader.commit();
  }

  crash(arriving: number): void {
    this.isAlive = false;
    for (const connection of this.connections) connection.die(arriving);
    void this.reader.close();
  }

  /** Takes a queued delivery up, in the steps of the attempt processor. */
  async attempt(job: DeliveryJob): Promise<void> {
    const state = this.world.stateOf(job.envelopeId);
    const connection = this.queueRedis(this.world.states.indexOf(state));
    const id = deliveryId(job);
    const write = (step: () => unknown): Promise<unknown> => connection.call(`moves ${id}`, async () => step());
    const webhook = this.world.webhooks.find(job.webhookId);
    if (webhook === undefined) return void (await write(() => state.write(({ jobs }) => jobs.delete(id))));
    if (webhook.status === 'disabled') return;
    if (!this.#slots.take(webhook).taken) return;
    const body = Buffer.from(job.body, 'utf8');
    const opened = await webhook.opened();
    const { disposition, durationMs } = await this.#attempts.make(webhook, opened, { ...job, body }, FROM_QUEUE);
    this.#slots.giveBack(webhook, durationMs);
    const after = { ...job, attempts: job.attempts + 1 };
    if (disposition.kind === 'dead-letter')
      await this.#queue.addDeadLetter({ ...after, reason: disposition.reason, diedAt: Date.now() });
    await write(() =>
      state.write(({ jobs }) => {
        if (disposition.kind !== 'retry') jobs.delete(id);
        else if (jobs.has(id)) jobs.set(id, after);
      }),
    );
  }
}
