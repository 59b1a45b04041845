import type { SeenEntry } from '@relay/dedupe';
import type { DeadLetter } from '@relay/dead-letters';
import { type AttemptResult, deliveryId, type DeliveryRequest, Sender } from '@relay/delivery';
import { envelopeIdOf, type QueuedDelivery } from '@relay/jobs';
import { type Flush, type LogPartition, type Ownership, PartitionProgress } from '@relay/progress';
import { Publisher, type OutgoingRecord } from '@relay/publishing';
import { shardNumber } from '@relay/redis';
import type { Replays } from '@relay/replays';
import { RetryQueue } from '@relay/retry';
import type { Connection } from './connection.js';
import type { Rules } from './rules.js';
import type { SimulatedWorker } from './simulated-worker.js';
import type { World } from './world.js';

/** A worker's progress: each shard by a connection of its own. */
export class RemoteProgress extends PartitionProgress {
  /** @param stores that of each shard */
  constructor(
    private readonly worker: SimulatedWorker,
    private readonly rules: Rules,
    private readonly stores: readonly PartitionProgress[],
  ) {
    super();
  }
  own(at: LogPartition, token: string, how: Ownership): ReturnType<PartitionProgress['own']> {
    const unit = unitOf(at);
    this.rules.owning(this.worker.member, unit, token);
    return this.#call(at, `${how.take ? 'takes' : 'asks for'} ${unit}`, async (store) => {
      const found = await store.own(at, token, how);
      if (found !== 'owned-elsewhere') this.rules.owned(this.worker.member, unit);
      return found;
    });
  }
  release(at: LogPartition, token: string): Promise<void> {
    return this.#call(at, `releases ${unitOf(at)}`, (store) => store.release(at, token));
  }
  rememberKnown(read: readonly LogPartition[]): Promise<boolean> {
    const [at] = read as [LogPartition];
    return this.#call(at, `remembers ${read.length} partitions`, (store) => store.rememberKnown(read));
  }
  wasKnown(at: LogPartition): Promise<boolean> {
    return this.#call(at, 'asks whether it was known', (store) => store.wasKnown(at));
  }
  lookUp(at: LogPartition, entries: readonly SeenEntry[]): ReturnType<PartitionProgress['lookUp']> {
    return this.#call(at, `looks up ${entries.length}`, (store) => store.lookUp(at, entries));
  }
  async flush(at: LogPartition, flush: Flush): Promise<boolean> {
    const { highWater, sequence } = flush.next;
    const marked = this.rules.flushing(this.worker.member, unitOf(at));
    const name = `flushes ${unitOf(at)} to ${highWater} (${sequence})`;
    const taken = await this.#call(at, name, async (store) => {
      const result = await store.flush(at, flush);
      if (result) marked();
      return result;
    });
    if (!taken) this.rules.refused(this.worker.member, unitOf(at), flush.token);
    return taken;
  }
  parking(at: LogPartition): ReturnType<PartitionProgress['parking']> {
    return this.#call(at, `reads the ranges of ${unitOf(at)}`, (store) => store.parking(at));
  }
  partials(at: LogPartition, ids: readonly string[]): ReturnType<PartitionProgress['partials']> {
    return this.#call(at, 'reads partial marks', (store) => store.partials(at, ids));
  }

  #call<T>({ shard = 0 }: LogPartition, name: string, step: (store: PartitionProgress) => Promise<T>): Promise<T> {
    const store = this.stores[shard] as PartitionProgress;
    return this.worker.redis(shard).call(name, () => step(store));
  }
}

const unitOf = ({ partition, shard = 0 }: LogPartition): string => `${partition}/${shard}`;

/** The queue of each shard by a connection of its own. */
export class RemoteQueue extends RetryQueue {
  constructor(
    private readonly worker: SimulatedWorker,
    private readonly stores: readonly RetryQueue[],
  ) {
    super();
  }
  add(delivery: QueuedDelivery): Promise<void> {
    const id = deliveryId(delivery.job);
    return this.#call(id, `adds ${id}`, (store) => store.add(delivery));
  }
  addDeadLetter(letter: DeadLetter): Promise<void> {
    const id = deliveryId(letter);
    return this.#call(id, `buries ${id}`, (store) => store.addDeadLetter(letter));
  }
  async existing(ids: readonly string[]): Promise<Set<string>> {
    const [first] = ids;
    if (first === undefined) return new Set();
    const looks = this.stores.map(async (store, shard) => {
      const own = ids.filter((id) => this.#shardOf(id) === shard);
      const look = () => store.existing(own);
      return own.length === 0 ? new Set<string>() : this.worker.queueRedis(shard).call('looks for jobs', look);
    });
    const found = new Set<string>();
    for (const each of await Promise.all(looks)) for (const id of each) found.add(id);
    return found;
  }
  purge(): Promise<number> {
    return Promise.resolve(0);
  }
  async close(): Promise<void> {}

  #call<T>(id: string, name: string, step: (store: RetryQueue) => Promise<T>): Promise<T> {
    const shard = this.#shardOf(id);
    const store = this.stores[shard] as RetryQueue;
    return this.worker.queueRedis(shard).call(name, () => step(store));
  }

  #shardOf(id: string): number {
    return shardNumber(envelopeIdOf(id), this.stores.length);
  }
}

export class RemoteOrders {
  constructor(
    private readonly connection: Connection,
    private readonly store: Pick<Replays, 'orders' | 'ended' | 'rangesOf' | 'resumeEnded' | 'endDone'>,
  ) {}
  orders(): ReturnType<Replays['orders']> {
    return this.connection.call('looks for orders', () => this.store.orders());
  }
  ended(): ReturnType<Replays['ended']> {
    return this.connection.call('looks for ended orders', () => this.store.ended());
  }
  resumeEnded(key: string, id: string): ReturnType<Replays['resumeEnded']> {
    return this.connection.call('lets an ended order run again', () => this.store.resumeEnded(key, id));
  }
  endDone(keys: readonly string[]): ReturnType<Replays['endDone']> {
    return this.connection.call('ends orders', () => this.store.endDone(keys));
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
      this.world.endpoints.attemptStarted({ worker: this.worker, url, body: body.toString(), isStraight, done });
    });
  }
  async close(): Promise<void> {}
}
