import type { RepeatCounter, SeenEntry, SeenMark, SeenStore } from '@relay/dedupe';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import { MicroBatch } from './micro-batch.js';

const MAX_ITEMS = 200;
/** Each call that writes costs Redis an fsync. Meanwhile the flight of an envelope finds its repeats in this process. */
const GATHER_MARKS_MS = 50;
/** Most marks that wait for a slow store. Further marks are dropped: the worker still detects a repeat. */
const MAX_WAITING_MARKS = 20_000;

/**
 * The ingress’s access to seen marks, in batches and never blocking. A store that is away or does not answer in time
 * counts as empty; while one look-up hangs, the next do not wait for it.
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

  /** Counts an id that came again. */
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
