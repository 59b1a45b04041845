import type { RepeatCounter, SeenEntry, SeenMark, SeenStore } from '@relay/dedupe';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';

interface Waiting<In, Out> {
  readonly item: In;
  readonly resolve: (out: Out | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Combines single calls into batches. One batch runs at a time, and items that arrive meanwhile form the next one, so the size
 * of a batch follows the load. `run` returns its answers in the order of its items; undefined means no answer.
 */
class MicroBatch<In, Out> {
  #waiting: Waiting<In, Out>[] = [];
  #isRunning = false;

  constructor(
    private readonly run: (items: readonly In[]) => Promise<readonly (Out | undefined)[]>,
    private readonly maxItems: number,
    /** Milliseconds in which items gather before a batch; if undefined, no item waits for a timer. */
    private readonly gatherMs?: number,
  ) {}

  get size(): number {
    return this.#waiting.length;
  }

  add(item: In): Promise<Out | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (this.#isRunning) return;
      this.#isRunning = true;
      void this.#drain();
    });
  }

  #gathered(): Promise<void> {
    return new Promise((resolve) => {
      // Items of the same turn of the event loop join the batch.
      if (this.gatherMs === undefined) setImmediate(resolve);
      else setTimeout(resolve, this.gatherMs);
    });
  }

  async #drain(): Promise<void> {
    await this.#gathered();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.maxItems);
      try {
        const answers = await this.run(batch.map((waiting) => waiting.item));
        for (const [index, waiting] of batch.entries()) waiting.resolve(answers[index]);
      } catch (error) {
        for (const waiting of batch) waiting.reject(error);
      }
      if (this.gatherMs !== undefined && this.#waiting.length < this.maxItems) await this.#gathered();
    }
    this.#isRunning = false;
  }
}

const MAX_ITEMS = 200;
/** Milliseconds in which marks gather: each write costs Redis an fsync. Meanwhile flights find repeats in this process. */
const GATHER_MARKS_MS = 50;
/** Most marks that wait for a slow store. Further marks are dropped, because the worker still detects repeats. */
const MAX_WAITING_MARKS = 20_000;

/**
 * Reads and writes seen marks in batches, without blocking. A store that is away or does not answer in time counts as
 * empty, and while a look-up hangs, further ones do not wait for it.
 */
export class RememberedIds {
  readonly #finds: MicroBatch<string, SeenMark>;
  readonly #marks: MicroBatch<SeenEntry, never>;
  #isHanging = false;

  constructor(
    private readonly store: SeenStore,
    private readonly log: ThrottledLog,
    private readonly repeats: Pick<RepeatCounter, 'count'>,
    private readonly waitMs = 250,
  ) {
    this.#finds = new MicroBatch((ids) => this.#find(ids), MAX_ITEMS);
    this.#marks = new MicroBatch((entries) => this.#mark(entries), MAX_ITEMS, GATHER_MARKS_MS);
  }

  find(id: string): Promise<SeenMark | undefined> {
    return this.#isHanging ? Promise.resolve(undefined) : this.#finds.add(id);
  }

  /** Counts a repeat of an id. */
  repeated(id: string, kind: 'duplicate' | 'conflict'): void {
    this.repeats.count(id, kind);
  }

  /** Resolves when the mark is written or has failed; marks are best effort. */
  async markPublished(entry: SeenEntry): Promise<void> {
    if (this.#marks.size < MAX_WAITING_MARKS) await this.#marks.add(entry);
  }

  async #find(ids: readonly string[]): Promise<readonly (SeenMark | undefined)[]> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<readonly undefined[]>((resolve) => {
      timer = setTimeout(() => {
        this.#isHanging = true;
        resolve([]);
      }, this.waitMs);
    });
    const found = this.store
      .find(ids)
      .catch((error: unknown) => this.#away(error))
      .finally(() => {
        clearTimeout(timer);
        this.#isHanging = false;
      });
    return Promise.race([found, late]);
  }

  async #mark(entries: readonly SeenEntry[]): Promise<[]> {
    await this.store.markPublished(entries).catch((error: unknown) => this.#away(error));
    return [];
  }

  #away(error: unknown): [] {
    this.log.warn('seen.away', 'Seen marks cannot be read or written; envelopes are accepted without them', {
      reason: reasonOf(error),
    });
    return [];
  }
}
