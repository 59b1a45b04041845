import { SeenStore, type SeenEntry, type SeenMark } from '@relay/dedupe';

/** Seen marks in memory, which a spec can make unreachable or slow. */
export class MemorySeenStore extends SeenStore {
  readonly #marks = new Map<string, SeenMark>();
  /** Number of look-ups and of marks. */
  readonly calls = { find: 0, markPublished: 0 };
  /** While set, every call rejects with it. */
  failure: Error | undefined;
  /** Every call waits for it. */
  gate: Promise<void> | undefined;

  async find(ids: readonly string[]): Promise<(SeenMark | undefined)[]> {
    this.calls.find += 1;
    await this.#reach();
    return ids.map((id) => this.#marks.get(id));
  }

  async markPublished(entries: readonly SeenEntry[]): Promise<void> {
    this.calls.markPublished += 1;
    await this.#reach();
    for (const { id, hash } of entries) {
      if (!this.#marks.has(id)) this.#marks.set(id, { state: 'published', hash });
    }
  }

  async #reach(): Promise<void> {
    if (this.gate !== undefined) await this.gate;
    if (this.failure !== undefined) throw this.failure;
  }
}
