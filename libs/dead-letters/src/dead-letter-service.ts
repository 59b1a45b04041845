import { deliveryId, parseDeliveryId } from '@relay/delivery';
import type { DeliveryQueue } from '@relay/jobs';
import type { LetterEnd } from './dead-letter-ending.js';
import type { LetterEnds } from './dead-letter-endings.js';
import { letterFacts, type LetterFacts } from './dead-letter-facts.js';
import { type LetterFilter, matches, namesOf } from './dead-letter-filter.js';
import type { DeadLetterBox, FoundDeadLetter } from './dead-letter-reader.adapter.js';
import { type Registrations, replayOf } from './dead-letter-replay.js';
import { Met } from './progress.js';

/** So many of those refused are named: the report is answered and told as one record. */
const NAMED_REFUSED = 1_000;

/** Which letters are meant: those with these ids (of a delivery, or of its envelope), or with none all that the filter lets pass. */
export interface LetterChoice {
  readonly ids: readonly string[];
  readonly filter: LetterFilter;
  /** Only those behind this one; all of them where it is gone. */
  readonly after?: string;
}

export interface ReplayReport {
  /** Dead letters that became deliveries again, and how many these are. */
  readonly replayed: number;
  readonly deliveries: number;
  /** The first thousand of them. */
  readonly refused: readonly { readonly id: string; readonly why: string }[];
  readonly refusedCount: number;
  /** Ids that name no letter. */
  readonly missing: readonly string[];
  /** False where the time was over before all were met: the same call goes on, with `after` where it is there. */
  readonly complete: boolean;
  /** The last letter that was met and stays. */
  readonly after?: string;
}

/** The newest letters that pass. */
export interface Listed {
  readonly letters: readonly LetterFacts[];
  /** How many letters there are, whatever the filter. */
  readonly stored: number;
  /** False where the time was over before there were enough. */
  readonly complete: boolean;
}

/** How many letters are meant; at least so many where the time was over before all were looked at. */
export interface Counted {
  readonly matched: number;
  readonly complete: boolean;
}

export type PurgeReport = Pick<ReplayReport, 'missing' | 'complete' | 'after'> & { readonly purged: number };

/** Letters that were looked at, and those of them that are meant. */
interface Slice {
  readonly looked: readonly FoundDeadLetter[];
  readonly meant: readonly FoundDeadLetter[];
}

/** What an operator does with dead letters, from the command line or over HTTP. */
export class DeadLetterDesk {
  constructor(
    private readonly box: DeadLetterBox,
    private readonly queue: DeliveryQueue,
    private readonly webhooks: Registrations,
    private readonly ends: LetterEnds,
    private readonly now: () => number,
  ) {}

  /**
   * The newest letters that pass, at most `limit` of them.
   * @param until epoch milliseconds: no more are looked at then
   */
  async list(filter: LetterFilter, limit: number, until = Infinity): Promise<Listed> {
    const [stored, ids] = await Promise.all([this.box.count(), this.#ids(filter)]);
    const letters: LetterFacts[] = [];
    const met = new Met(until);
    for await (const slice of this.box.read(ids.toReversed())) {
      if (met.isOver(this.now())) return { letters, stored, complete: false };
      letters.push(...slice.filter((each) => matches(each.stored, filter)).map(letterFacts));
      if (letters.length >= limit) break;
      met.add(slice, []);
    }
    return { letters: letters.slice(0, limit), stored, complete: true };
  }

  async find(id: string): Promise<FoundDeadLetter | undefined> {
    // BullMQ has keys of its own beside those of the jobs.
    if (parseDeliveryId(id) === undefined) return undefined;
    for await (const [letter] of this.box.read([id])) return letter;
    return undefined;
  }

  /** Its envelope; empty when Redis has lost it. */
  async bodyOf(letter: FoundDeadLetter): Promise<string> {
    return (await this.box.whole(letter)).body;
  }

  /**
   * How many letters are meant.
   * @param until epoch milliseconds: what is not counted by then is left out
   */
  async count(choice: LetterChoice, until = Infinity): Promise<Counted> {
    let matched = 0;
    for await (const { meant } of this.#chosen(choice, [])) {
      if (this.now() >= until) return { matched, complete: false };
      matched += meant.length;
    }
    return { matched, complete: true };
  }

  /**
   * Told, then stored as jobs, then the letters go: what ends in between is there twice, never not at all.
   * @param until epoch milliseconds: no more are begun then
   */
  async replay(choice: LetterChoice, until = Infinity): Promise<ReplayReport> {
    const missing: string[] = [];
    return { ...(await this.#replay(this.#chosen(choice, missing), until)), missing };
  }

  /** Those of exactly these ids, as `replay` does; what is gone meanwhile is left out. */
  replayLetters(ids: readonly string[]): Promise<Omit<ReplayReport, 'missing'>> {
    return this.#replay(this.#read(ids));
  }

  async #replay(slices: AsyncIterable<Slice>, until = Infinity): Promise<Omit<ReplayReport, 'missing'>> {
    const refused: { id: string; why: string }[] = [];
    const report = { replayed: 0, deliveries: 0, refused, refusedCount: 0 };
    const met = new Met(until);
    for await (const { looked, meant } of slices) {
      const now = this.now();
      if (met.isOver(now)) return { ...report, ...met.rest };
      const plans = await Promise.all(
        meant.map(async (letter) => ({
          letter,
          plan: replayOf(await this.box.whole(letter), this.webhooks, now),
        })),
      );
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
      for (const { letter, plan } of plans) {
        if (plan.kind !== 'refused') continue;
        report.refusedCount += 1;
        if (refused.length < NAMED_REFUSED) refused.push({ id: letter.id, why: plan.why });
      }
      met.add(looked, done);
    }
    return { ...report, complete: true };
  }

  /** @param until as for `replay` */
  async purge(choice: LetterChoice, until = Infinity): Promise<PurgeReport> {
    const report = { purged: 0, missing: [] as string[] };
    const met = new Met(until);
    for await (const { looked, meant } of this.#chosen(choice, report.missing)) {
      const now = this.now();
      if (met.isOver(now)) return { ...report, ...met.rest };
      await this.ends.tell(
        meant.map(({ id }) => endOf(id, 'purged', now, [])),
        report.purged,
      );
      report.purged += await this.box.remove(meant);
      met.add(looked, meant);
    }
    return { ...report, complete: true };
  }

  /** The chosen letters in slices, oldest first. `missing` is given the ids that name none. */
  async *#chosen({ ids, filter, after }: LetterChoice, missing: string[]): AsyncGenerator<Slice> {
    const given = new Set(ids.map((id) => id.toLowerCase()));
    const stored = await this.#ids(filter);
    const named = given.size === 0 ? stored : stored.filter((id) => namesOf(id).some((name) => given.has(name)));
    const met = new Set(named.flatMap(namesOf));
    missing.push(...[...given].filter((id) => !met.has(id)));
    yield* this.#read(after === undefined ? named : named.slice(named.indexOf(after) + 1), filter);
  }

  async *#read(ids: readonly string[], filter: LetterFilter = {}): AsyncGenerator<Slice> {
    for await (const looked of this.box.read(ids))
      yield { looked, meant: looked.filter(({ stored }) => matches(stored, filter)) };
  }

  /** Of letters that may pass, oldest first. */
  #ids({ webhook }: LetterFilter): Promise<string[]> {
    return webhook === undefined ? this.box.ids() : this.box.idsOf(webhook.toLowerCase());
  }
}

const endOf = (id: string, ended: LetterEnd['ended'], at: number, deliveries: readonly string[]): LetterEnd => ({
  v: 1,
  deliveryId: id,
  ended,
  at,
  deliveries: [...deliveries],
});
