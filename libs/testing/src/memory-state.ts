import type { DeadLetter } from '@relay/dead-letters';
import type { SeenMark } from '@relay/dedupe';
import type { DeliveryJob } from '@relay/jobs';
import type { ParkedRange, Position, ReplayCounts } from '@relay/progress';

/** What the relay keeps in Redis, as far as deliveries depend on it. */
export interface State {
  /** By `topic/partition`. */
  readonly progress: Map<string, Partial<Position> & { owner: string; claim?: string }>;
  /** By envelope id. */
  readonly marks: Map<string, SeenMark>;
  /** By `topic/partition`, then by envelope id: the settled webhooks. */
  readonly partials: Map<string, Map<string, readonly string[]>>;
  /** By `topic/partition`: ranges and counts by range key, and what was dropped inside one. */
  readonly parking: Map<
    string,
    {
      ranges: Map<string, readonly ParkedRange[]>;
      replays: Map<string, ReplayCounts>;
      dropped: Set<number>;
      next: number;
    }
  >;
  /** Range keys of the replays under way. */
  readonly replays: Set<string>;
  /** By delivery id. */
  readonly jobs: Map<string, DeliveryJob>;
  readonly deadLetters: Map<string, DeadLetter>;
}

const nothing = (): State => ({
  progress: new Map(),
  marks: new Map(),
  partials: new Map(),
  parking: new Map(),
  replays: new Set(),
  jobs: new Map(),
  deadLetters: new Map(),
});

/**
 * Redis' part in memory, as one history of writes: each is whole, as a script is, and all of it goes back together when
 * the latest are lost, as after a cut append-only file or a failover. A write is made again then, so it may depend on
 * nothing but the state and its own arguments.
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

  /** What is written by now is never lost. */
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
