import type { SeenEntry } from '@relay/dedupe';
import { deliveryId } from '@relay/delivery';
import { Undeliverable, type DeliveryJob, type RetryQueue } from '@relay/retry';
import { logRecordOf } from '@relay/kafka';
import { ThrottledLog } from '@relay/telemetry';
import type { Webhook } from '@relay/webhooks';
import { MemoryPartitionProgress, MemoryRetryQueue, type MemoryState } from '@relay/testing';
import type { Kafka } from 'kafkajs';
import { Registry } from 'prom-client';
import { AttemptLog } from '../../apps/worker/src/delivery/attempt-log.js';
import { Attempts } from '../../apps/worker/src/delivery/attempts.js';
import { DeliveryDispatcher } from '../../apps/worker/src/delivery/delivery-dispatcher.js';
import { DeliveryMetrics } from '../../apps/worker/src/delivery/delivery-metrics.js';
import { EventReporter } from '../../apps/worker/src/reporting/event-reporter.js';
import { FanOutConsumer } from '../../apps/worker/src/fan-out/fan-out.consumer.js';
import { FanOutTools } from '../../apps/worker/src/fan-out/fan-out-tools.js';
import { KafkaLogStrategy } from '../../apps/worker/src/log/kafka-log.strategy.js';
import { LOG_CHUNK, type LogChunk } from '../../apps/worker/src/log/log-chunk.js';
import { LogReader } from '../../apps/worker/src/log/log-reader.js';
import { ReadingPause } from '../../apps/worker/src/log/reading-pause.js';
import { CatchUp } from '../../apps/worker/src/catch-up/catch-up.js';
import { ReplayOrders } from '../../apps/worker/src/replays/replay-orders.js';
import { Connection } from './connection.js';
import { RemoteEndpoints, RemoteOrders, RemoteProgress, RemotePublisher, RemoteQueue } from './remote-stores.js';
import { PARTITIONS, SimulatedConsumer, TOPIC } from './simulated-group.js';
import type { World } from './world.js';

const NEVER_MS = 2_000_000_000;
const POLICY = { schedule: [5_000, 5_000, 5_000], horizonMs: 96 * 3_600_000 };
/** A queued attempt has a signal, which its lock may raise; a straight one has none. */
const FROM_QUEUE = new AbortController().signal;
const metrics = new DeliveryMetrics(new Registry());

/** One worker process: the product's own classes over connections that a history makes slow or breaks. */
export class SimulatedWorker {
  readonly redis: Connection;
  readonly queueRedis: Connection;
  readonly kafka: Connection;
  readonly consumer: SimulatedConsumer;
  readonly reader: LogReader;
  readonly #courier: DeliveryDispatcher;
  readonly #attempts: Attempts;
  readonly #queue: RetryQueue;
  readonly #catchUp: CatchUp;
  readonly #orders: ReplayOrders;
  isAlive = true;

  constructor(
    private readonly world: World,
    readonly member: number,
  ) {
    const trace = (line: string): void => world.trace(line);
    this.redis = new Connection(`worker ${member} redis`, false, trace);
    this.queueRedis = new Connection(`worker ${member} queue`, true, trace);
    this.kafka = new Connection(`worker ${member} kafka`, false, trace);
    this.consumer = new SimulatedConsumer(world.group, member, trace, () => world.rules.mayOwn(member));
    const log = new ThrottledLog(world.log);
    const progress = new RemoteProgress(this, world.rules, new MemoryPartitionProgress(world.state));
    const queue = (this.#queue = new RemoteQueue(this.queueRedis, new MemoryRetryQueue(world.state)));
    const publisher = new RemotePublisher(this.kafka, world);
    const attemptLog = new AttemptLog(new EventReporter(publisher, 'relay.delivery-attempts', log, NEVER_MS));
    const sender = new RemoteEndpoints(this, world);
    this.#attempts = new Attempts(sender, { policy: POLICY, version: '1' }, attemptLog, metrics, world.log);
    const isCurrent = ({ id, version }: Webhook): boolean => world.webhooks.find(id)?.version === version;
    const limits = { total: 4, perEndpoint: 2, maxWaitMs: 250 };
    this.#courier = new DeliveryDispatcher(limits, { load: 8, waiting: 4 }, this.#attempts, queue, log, undefined, isCurrent);
    const undeliverable = new Undeliverable(publisher, queue, log);
    const noLoad = async () => ({ memory: { used: 0, max: 0 }, queued: 0 });
    const pause = new ReadingPause(noLoad, 1, world.log, new Registry());
    const rule = {
      isDue: ({ id, status }: Webhook) => world.congested.has(id) || status === 'disabled',
      room: ({ id, status }: Webhook) => (world.congested.has(id) || status === 'disabled' ? 0 : 100),
    };
    const tools = new FanOutTools('', undeliverable, metrics, log, pause, rule);
    const webhooks = {
      refreshTo: async () => undefined,
      matching: (_eventType: string, audience: readonly string[]) => world.webhooks.matching(audience),
    };
    const fanOut = new FanOutConsumer(progress, webhooks, this.#courier, queue, tools);
    const bounds = {
      fetchOffsets: async () => [
        {
          topic: TOPIC,
          partitions: PARTITIONS.map((partition) => ({
            partition,
            offset: String(world.group.committed[partition]),
            metadata: null,
          })),
        },
      ],
      fetchTopicOffsets: async () =>
        PARTITIONS.map((partition) => {
          const high = String(world.group.log[partition]?.length);
          return { partition, offset: high, high, low: '0' };
        }),
    };
    this.reader = new LogReader(progress, bounds, world.log, {
      groupId: 'g',
      flushEveryMs: NEVER_MS,
      commitEveryMs: NEVER_MS,
      compareEveryMs: NEVER_MS,
    });
    const kafka = { consumer: () => this.consumer.asConsumer } as unknown as Kafka;
    const strategy = new KafkaLogStrategy(kafka, this.reader, {
      deployment: 'relay.registry',
      groupId: 'g',
      topics: [TOPIC],
      onDead: () => undefined,
    });
    strategy.addHandler(LOG_CHUNK, (chunk: LogChunk) => fanOut.take(chunk), true);
    void strategy.listen(() => undefined);
    const orders = new RemoteOrders(this.redis, world.replays);
    this.#orders = new ReplayOrders(
      orders,
      () => this.reader.catchUpPartitions(),
      () => TOPIC,
      log,
    );
    this.#catchUp = new CatchUp({
      partitions: () => this.reader.catchUpPartitions(),
      webhooks: { current: async () => undefined, find: (id) => world.webhooks.find(id) },
      rule,
      counts: { of: () => ({ deliveries: 0, bytes: 0 }), added: () => undefined },
      courier: {
        room: () => this.#courier.room(),
        dispatch: (delivery) => {
          world.caughtUp(delivery.webhook.url, delivery.record.envelope.bytes.toString());
          this.#courier.dispatch(delivery);
        },
      },
      queue,
      reading: pause,
      pace: { pass: (run) => run(() => undefined), turn: async () => undefined },
      replays: {
        isPaused: () => false,
        conflicts: (entries) => this.redis.call('looks for conflicts', async () => conflictsIn(world.state, entries)),
      },
      failed: { of: async (wanted) => wanted.map((each) => ({ ...each, letters: [] })), replay: async () => false },
      read: async ({ partition, from, end }, take) => {
        const messages = await this.kafka.call(`reads ${partition}/${from} to ${end}`, async () =>
          world.group.log[partition]?.slice(from, end),
        );
        await take((messages ?? []).map(logRecordOf));
      },
      lowest: async () => 0,
      expired: () => undefined,
      topicPrefix: '',
      log,
    });
  }

  /** Looks whether parked webhooks can be caught up and replays delivered. */
  catchUp(): void {
    if (this.isAlive) this.#catchUp.look();
  }

  /** Looks which replays are ordered. */
  lookForOrders(): void {
    if (this.isAlive) void this.#orders.look();
  }

  get connections(): Connection[] {
    return [this.redis, this.queueRedis, this.kafka];
  }

  get isQuiet(): boolean {
    return this.connections.every((connection) => connection.isQuiet);
  }

  /** As the start of the worker does at each `ready` of the connection for its scripts; Kafka's are never away long. */
  reconnect(which: 'redis' | 'queueRedis' | 'both'): void {
    if (!this.isAlive) return;
    this.kafka.reconnect();
    if (which !== 'redis') this.queueRedis.reconnect();
    if (which === 'queueRedis' || this.redis.isUp) return;
    this.redis.reconnect();
    this.world.rules.mayOwn(this.member);
    this.reader.reconnected();
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
    const { state } = this.world;
    const id = deliveryId(job);
    const write = (step: () => unknown): Promise<unknown> => this.queueRedis.call(`moves ${id}`, async () => step());
    const webhook = this.world.webhooks.find(job.webhookId);
    if (webhook === undefined) return void (await write(() => state.write(({ jobs }) => jobs.delete(id))));
    if (webhook.status === 'disabled') return;
    if (!this.#courier.take(webhook.endpoint).taken) return;
    const body = Buffer.from(job.body, 'utf8');
    const opened = await webhook.opened();
    const { disposition, durationMs } = await this.#attempts.make(webhook, opened, { ...job, body }, FROM_QUEUE);
    this.#courier.giveBack(webhook.endpoint, durationMs);
    const after = { ...job, attempts: job.attempts + 1 };
    if (disposition.kind === 'dead-letter')
      await this.#queue.bury({ ...after, reason: disposition.reason, diedAt: Date.now() });
    await write(() =>
      state.write(({ jobs }) => {
        if (disposition.kind !== 'retry') jobs.delete(id);
        else if (jobs.has(id)) jobs.set(id, after);
      }),
    );
  }
}

/** The ids of those that are marked with other content. */
const conflictsIn = (state: MemoryState, entries: readonly SeenEntry[]): Set<string> =>
  new Set(entries.flatMap(({ id, hash }) => ((state.now.marks.get(id)?.hash ?? hash) === hash ? [] : [id])));
