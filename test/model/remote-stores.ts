import type { SeenEntry } from '@relay/dedupe';
import type { DeadLetter } from '@relay/dead-letters';
import { type AttemptResult, deliveryId, type DeliveryRequest, Sender } from '@relay/delivery';
import type { QueuedDelivery } from '@relay/jobs';
import { type Flush, type LogPartition, type Ownership, PartitionProgress } from '@relay/progress';
import { Publisher, type OutgoingRecord } from '@relay/publishing';
import type { Replays } from '@relay/replays';
import { RetryQueue } from '@relay/retry';
import type { Connection } from './connection.js';
import type { Rules } from './rules.js';
import type { SimulatedWorker } from './simulated-worker.js';
import type { World } from './world.js';

export class RemoteProgress extends PartitionProgress {
  constructor(
    private readonly worker: SimulatedWorker,
    private readonly rules: Rules,
    private readonly store: PartitionProgress,
  ) {
    super();
  }
  own(at: LogPartition, token: string, how: Ownership): ReturnType<PartitionProgress['own']> {
    this.rules.owning(this.worker.member, at.partition);
    return this.worker.redis.call(`${how.take ? 'takes' : 'asks for'} ${at.partition}`, async () => {
      const found = await this.store.own(at, token, how);
      if (found !== 'owned-elsewhere') this.rules.owned(this.worker.member, at.partition);
      return found;
    });
  }
  release(at: LogPartition, token: string): Promise<void> {
    return this.worker.redis.call(`releases ${at.partition}`, () => this.store.release(at, token));
  }
  lookUp(at: LogPartition, entries: readonly SeenEntry[]): ReturnType<PartitionProgress['lookUp']> {
    return this.worker.redis.call(`looks up ${entries.length}`, () => this.store.lookUp(at, entries));
  }
  async flush(at: LogPartition, flush: Flush): Promise<boolean> {
    const { highWater, sequence } = flush.next;
    const marked = this.rules.flushing(this.worker.member, at.partition);
    const name = `flushes ${at.partition} to ${highWater} (${sequence})`;
    const taken = await this.worker.redis.call(name, async () => {
      const result = await this.store.flush(at, flush);
      if (result) marked();
      return result;
    });
    if (!taken) this.rules.refused(this.worker.member, at.partition);
    return taken;
  }
  parking(at: LogPartition): ReturnType<PartitionProgress['parking']> {
    return this.worker.redis.call(`reads the ranges of ${at.partition}`, () => this.store.parking(at));
  }
  partials(at: LogPartition, ids: readonly string[]): ReturnType<PartitionProgress['partials']> {
    return this.worker.redis.call('reads partial marks', () => this.store.partials(at, ids));
  }
}

export class RemoteQueue extends RetryQueue {
  constructor(
    private readonly connection: Connection,
    private readonly store: RetryQueue,
  ) {
    super();
  }
  add(delivery: QueuedDelivery): Promise<void> {
    return this.connection.call(`adds ${deliveryId(delivery.job)}`, () => this.store.add(delivery));
  }
  addDeadLetter(letter: DeadLetter): Promise<void> {
    return this.connection.call(`buries ${deliveryId(letter)}`, () => this.store.addDeadLetter(letter));
  }
  existing(ids: readonly string[]): Promise<Set<string>> {
    return this.connection.call('looks for jobs', () => this.store.existing(ids));
  }
  purge(): Promise<number> {
    return Promise.resolve(0);
  }
  async close(): Promise<void> {}
}

export class RemoteOrders {
  constructor(
    private readonly connection: Connection,
    private readonly store: Pick<Replays, 'orders' | 'rangesOf'>,
  ) {}
  orders(): ReturnType<Replays['orders']> {
    return this.connection.call('looks for orders', () => this.store.orders());
  }
  rangesOf(at: LogPartition, keys: readonly string[]): ReturnType<Replays['rangesOf']> {
    return this.connection.call('reads the ranges of orders', () => this.store.rangesOf(at, keys));
  }
}

export class RemotePublisher extends Publisher {
  readonly state = 'connected';
  constructor(
    private readonly connection: Connection,
    private readonly world: World,
  ) {
    super();
  }
  async publish(record: OutgoingRecord): Promise<undefined> {
    const text = record.value.toString();
    await this.connection.call(`publishes ${text}`, async () => void this.world.putAside.add(text));
  }
  async learn(): Promise<void> {}
  async close(): Promise<void> {}
}

export class RemoteEndpoints extends Sender {
  constructor(
    private readonly worker: SimulatedWorker,
    private readonly world: World,
  ) {
    super();
  }
  send({ url, body }: DeliveryRequest, signal?: AbortSignal): Promise<AttemptResult> {
    const isStraight = signal === undefined;
    return new Promise((done) => {
      this.world.attemptStarted({ worker: this.worker, url, body: body.toString(), isStraight, done });
    });
  }
  async close(): Promise<void> {}
}
