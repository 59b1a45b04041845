import { deliveryId } from '@relay/delivery';
import type { LetterEnd, RetryQueue } from '@relay/retry';
import type { DeadLetterBox, StoredLetter } from './dead-letter-box.adapter.js';
import type { LetterEnds } from './letter-ends.js';
import { matches, namesOf, type LetterFilter } from './letter-filter.js';
import { replayOf, type Registrations } from './replay.js';

/** Which letters are meant: those with these ids (of a delivery, or of its envelope), or with none all that the filter lets pass. */
export interface LetterChoice {
  readonly ids: readonly string[];
  readonly filter: LetterFilter;
}

export interface ReplayReport {
  /** Dead letters that became deliveries again, and how many these are. */
  readonly replayed: number;
  readonly deliveries: number;
  readonly refused: readonly { readonly id: string; readonly why: string }[];
  /** Ids that name no letter. */
  readonly missing: readonly string[];
  /** False where the time was over before all were met: the same call goes on. */
  readonly complete: boolean;
}

/** How many letters are meant; at least so many where the time was over before all were looked at. */
export interface Counted {
  readonly matched: number;
  readonly complete: boolean;
}

export type PurgeReport = Pick<ReplayReport, 'missing' | 'complete'> & { readonly purged: number };

/** What an operator does with dead letters, from the command line or over HTTP. */
export class DeadLetterDesk {
  constructor(
    private readonly box: DeadLetterBox,
    private readonly queue: RetryQueue,
    private readonly webhooks: Registrations,
    private readonly ends: LetterEnds,
    private readonly now: () => number,
  ) {}

  /** The newest letters that pass, at most `limit` of them, and how many letters there are in all. */
  async list(filter: LetterFilter, limit: number): Promise<{ letters: StoredLetter[]; total: number }> {
    const ids = (await this.box.ids()).toReversed();
    const letters: StoredLetter[] = [];
    for await (const slice of this.box.read(ids)) {
      letters.push(...slice.filter(({ letter }) => matches(letter, filter)));
      if (letters.length >= limit) break;
    }
    return { letters: letters.slice(0, limit), total: ids.length };
  }

  async find(id: string): Promise<StoredLetter | undefined> {
    for await (const [letter] of this.box.read([id])) return letter;
    return undefined;
  }

  /**
   * How many letters are meant.
   * @param until epoch milliseconds: what is not counted by then is left out
   */
  async count(choice: LetterChoice, until = Infinity): Promise<Counted> {
    let matched = 0;
    for await (const letters of this.#chosen(choice, [])) {
      if (this.now() >= until) return { matched, complete: false };
      matched += letters.length;
    }
    return { matched, complete: true };
  }

  /**
   * Told, then stored as jobs, then the letters go: what ends in between is there twice, never not at all.
   * @param until epoch milliseconds: no more are begun then, once there was one to replay
   */
  async replay(choice: LetterChoice, until = Infinity): Promise<ReplayReport> {
    const missing: string[] = [];
    return { ...(await this.#replay(this.#chosen(choice, missing), until)), missing };
  }

  /** Those of exactly these ids, as `replay` does; what is gone meanwhile is left out. */
  replayLetters(ids: readonly string[]): Promise<Omit<ReplayReport, 'missing'>> {
    return this.#replay(this.box.read(ids));
  }

  async #replay(slices: AsyncIterable<StoredLetter[]>, until = Infinity): Promise<Omit<ReplayReport, 'missing'>> {
    const report = { replayed: 0, deliveries: 0, refused: [] as { id: string; why: string }[], complete: true };
    for await (const letters of slices) {
      const now = this.now();
      if (now >= until && report.replayed > 0) return { ...report, complete: false };
      const plans = letters.map((letter) => ({ letter, plan: replayOf(letter.letter, this.webhooks, now) }));
      const jobs = plans.flatMap(({ plan }) => (plan.kind === 'replay' ? plan.jobs : []));
      await this.ends.tell(
        plans.flatMap(({ letter, plan }) =>
          plan.kind === 'replay' ? [endOf(letter.id, 'replayed', now, plan.jobs.map(deliveryId))] : [],
        ),
        report.replayed,
      );
      await Promise.all(jobs.map((job) => this.queue.add({ job, at: now })));
      const done = plans.filter(({ plan }) => plan.kind === 'replay').map(({ letter }) => letter);
      await this.box.remove(done);
      report.replayed += done.length;
      report.deliveries += jobs.length;
      for (const { letter, plan } of plans)
        if (plan.kind === 'refused') report.refused.push({ id: letter.id, why: plan.why });
    }
    return report;
  }

  /** @param until as for `replay` */
  async purge(choice: LetterChoice, until = Infinity): Promise<PurgeReport> {
    const report = { purged: 0, missing: [] as string[], complete: true };
    for await (const letters of this.#chosen(choice, report.missing)) {
      if (this.now() >= until && report.purged > 0) return { ...report, complete: false };
      await this.ends.tell(
        letters.map(({ id }) => endOf(id, 'purged', this.now(), [])),
        report.purged,
      );
      report.purged += await this.box.remove(letters);
    }
    return report;
  }

  /** The chosen letters in slices, oldest first. `missing` is given the ids that name none. */
  async *#chosen({ ids, filter }: LetterChoice, missing: string[]): AsyncGenerator<StoredLetter[]> {
    const given = new Set(ids.map((id) => id.toLowerCase()));
    const stored = await this.box.ids();
    const named = given.size === 0 ? stored : stored.filter((id) => namesOf(id).some((name) => given.has(name)));
    const met = new Set(named.flatMap(namesOf));
    missing.push(...[...given].filter((id) => !met.has(id)));
    for await (const slice of this.box.read(named)) yield slice.filter(({ letter }) => matches(letter, filter));
  }
}

const endOf = (id: string, ended: LetterEnd['ended'], at: number, deliveries: readonly string[]): LetterEnd => ({
  v: 1,
  deliveryId: id,
  ended,
  at,
  deliveries: [...deliveries],
});
