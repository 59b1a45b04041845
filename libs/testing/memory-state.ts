import type { DeadLetter } from '@relay/dead-letters';
import type { SeenMark } from '@relay/dedupe';
import { deliveryId } from '@relay/delivery';
import type { DeliveryJob, QueuedDelivery } from '@relay/jobs';
import type { LogPartition, OwnedPosition, ParkedRange, ReplayCounts } from '@relay/progress';
import { RetryQueue } from '@relay/retry';

/** The name of a partition, or of one shard of it. */
export const keyOf = ({ topic, partition, shard }: LogPartition): string =>
  [topic, partition, ...(shard === undefined ? [] : [shard])].join('/');

/** Waiting ranges of one partition. */
interface StoredParking {
  /** By range key, like the counts. */
  ranges: Map<string, readonly ParkedRange[]>;
  replays: Map<string, ReplayCounts>;
  /** Offsets inside a range that no webhook gets. */
  dropped: Set<number>;
  /** Range keys of the replays that have ended here. */
  ended: Set<string>;
  next: number;
}

export const nothingIn = (): StoredParking => ({
  ranges: new Map(),
  replays: new Map(),
  dropped: new Set(),
  ended: new Set(),
  next: 0,
});

/** The state in Redis that deliveries depend on. */
export interface State {
  /** By `topic/partition`. */
  readonly progress: Map<string, Partial<OwnedPosition> & { owner: string; claim?: string }>;
  /** Shards that once knew every partition that was read. */
  readonly known: Set<number>;
  /** By envelope id. */
  readonly marks: Map<string, SeenMark>;
  /** By `topic/partition`, then by envelope id: the settled webhooks. */
  readonly partials: Map<string, Map<string, readonly string[]>>;
  /** By `topic/partition`. */
  readonly parking: Map<string, StoredParking>;
  /** Range keys of the replays under way. */
  readonly replays: Set<string>;
  /** By range key: the ordered ranges by `topic/partition`. */
  readonly orders: Map<string, ReadonlyMap<string, readonly ParkedRange[]>>;
  /** Range keys of the replays that ended, with several shards. */
  readonly ended: Set<string>;
  /** By delivery id. */
  readonly jobs: Map<string, DeliveryJob>;
  readonly deadLetters: Map<string, DeadLetter>;
}

const nothing = (): State => ({
  progress: new Map(),
  known: new Set(),
  marks: new Map(),
  partials: new Map(),
  parking: new Map(),
  replays: new Set(),
  orders: new Map(),
  ended: new Set(),
  jobs: new Map(),
  deadLetters: new Map(),
});

/**
 * The state of Redis in memory as one history of writes. Each write is atomic, as a script is. Losing the latest writes, as after a
 * cut append-only file or a failover, replays the others, so a write may depend only on the state and its own arguments.
 */
export class MemoryState {
  #state = nothing();
  readonly #writes: ((state: State) => unknown)[] = [];
  #kept = 0;

  get now(): State {
    return this.#state;
  }

  /** Writes that can be lost. */
  get losable(): number {
    return this.#writes.length - this.#kept;
  }

  write<T>(step: (state: State) => T): T {
    this.#writes.push(step);
    return step(this.#state);
  }

  /** Makes the present writes durable. */
  keep(): void {
    this.#kept = this.#writes.length;
  }

  /** Loses the latest writes, at most those after `keep`. */
  goBack(writes: number): void {
    this.#writes.length -= Math.min(writes, this.losable);
    this.#state = nothing();
    for (const step of this.#writes) step(this.#state);
  }
}

/** The queue in memory; the caller decides when a job is due. */
export class MemoryRetryQueue extends RetryQueue {
  constructor(private readonly state: MemoryState) {
    super();
  }

  async add({ job }: QueuedDelivery): Promise<void> {
    this.state.write(({ jobs }) => {
      if (!jobs.has(deliveryId(job))) jobs.set(deliveryId(job), job);
    });
  }

  async addDeadLetter(letter: DeadLetter): Promise<void> {
    this.state.write(({ deadLetters }) => {
      if (!deadLetters.has(deliveryId(letter))) deadLetters.set(deliveryId(letter), letter);
    });
  }

  async existing(ids: readonly string[]): Promise<Set<string>> {
    const { jobs, deadLetters } = this.state.now;
    return new Set(ids.filter((id) => jobs.has(id) || deadLetters.has(id)));
  }

  async purge(olderThanMs: number): Promise<number> {
    const before = Date.now() - olderThanMs;
    return this.state.write(({ deadLetters }) => {
      const old = [...deadLetters].filter(([, letter]) => letter.diedAt <= before);
      for (const [id] of old) deadLetters.delete(id);
      return old.length;
    });
  }

  async close(): Promise<void> {
    // Holds no connection.
  }
}
