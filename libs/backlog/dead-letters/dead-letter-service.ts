import type { Audit } from '@relay/audit';
import { deliveryId, parseDeliveryId } from '@relay/delivery';
import { deadLettersTopic } from '@relay/events';
import type { QueuedDelivery } from '@relay/jobs';
import { unavailable } from '@relay/problem';
import type { Publisher } from '@relay/publishing';
import type { DeadLetterReader } from './dead-letter-store.adapter.js';
import {
  deadLetterFacts,
  FacetCounts,
  matches,
  namesOf,
  replayOf,
  type DeadLetterEnding,
  type DeadLetterFacets,
  type DeadLetterFacts,
  type DeadLetterFilter,
  type FoundDeadLetter,
  type WebhookFinder,
} from './dead-letter.js';

/**
 * Maximum of refused dead letters that a report lists, because a report is sent as one HTTP response and as one Kafka
 * record.
 */
const NAMED_REFUSED = 1_000;

/**
 * Selects the dead letters that match the filter. If there are ids, only dead letters whose own id or envelope id is among
 * them.
 */
export interface DeadLetterSelection {
  readonly ids: readonly string[];
  readonly filter: DeadLetterFilter;
  /** Selects only dead letters that follow the dead letter with this id. If that dead letter was removed, selects all. */
  readonly after?: string;
}

export interface ReplayReport {
  /** Number of dead letters that were replayed, and of deliveries that were made from them. */
  readonly replayed: number;
  readonly deliveries: number;
  /** The first thousand refused dead letters. */
  readonly refused: readonly { readonly id: string; readonly why: string }[];
  readonly refusedCount: number;
  /** Ids that name no dead letter. */
  readonly missing: readonly string[];
  /**
   * False if the time limit was reached before the last dead letter. A repeated call with `after` (if present) then
   * continues.
   */
  readonly complete: boolean;
  /** The last dead letter that was read and not removed. */
  readonly after?: string;
}

interface DeadLetterList {
  readonly letters: readonly DeadLetterFacts[];
  /** Number of all stored dead letters, whether or not they match the filter. */
  readonly stored: number;
  /** False if the time limit was reached before `limit` dead letters were found. */
  readonly complete: boolean;
  /** Cursor of the next page; undefined if there are no older dead letters. */
  readonly next?: string;
}

export type PurgeReport = Pick<ReplayReport, 'missing' | 'complete' | 'after'> & { readonly purged: number };

/** Some dead letters that were read, and those of them that the selection includes. */
interface Slice {
  readonly slice: readonly FoundDeadLetter[];
  readonly selected: readonly FoundDeadLetter[];
}

export class DeadLetterService {
  constructor(
    private readonly reader: DeadLetterReader,
    private readonly queue: { add(delivery: QueuedDelivery): Promise<void> },
    private readonly webhooks: WebhookFinder,
    private readonly endings: DeadLetterEndings,
    private readonly now: () => number,
  ) {}

  /**
   * Returns the newest dead letters that match the filter, at most `limit`.
   * @param until time in epoch milliseconds after which no more dead letters are read
   * @param cursor `next` of the previous page
   */
  async list(filter: DeadLetterFilter, limit: number, until = Infinity, cursor?: string): Promise<DeadLetterList> {
    const [stored, all] = await Promise.all([this.reader.count(), this.#ids(filter)]);
    const ids = cursor === undefined ? all : all.slice(0, placeOf(cursor, all));
    const letters: DeadLetterFacts[] = [];
    let [hasBegun, last]: [boolean, string | undefined] = [false, undefined];
    for await (const slice of this.reader.read(ids.toReversed())) {
      if (hasBegun && this.now() >= until) return { letters, stored, ...nextOf(last, ids), complete: false };
      for (const each of slice) {
        if (matches(each.stored, filter)) letters.push(deadLetterFacts(each));
        if (letters.length === limit) return { letters, stored, ...nextOf(each.id, ids), complete: true };
      }
      [hasBegun, last] = [true, slice.at(-1)?.id ?? last];
    }
    return { letters, stored, complete: true };
  }

  async find(id: string): Promise<FoundDeadLetter | undefined> {
    // BullMQ keeps keys of its own under the same prefix, so only the id of a delivery may be looked up.
    if (parseDeliveryId(id) === undefined) return undefined;
    for await (const [letter] of this.reader.read([id])) return letter;
    return undefined;
  }

  /** Returns the text of the envelope; empty if Redis has lost it. */
  async bodyOf(letter: FoundDeadLetter): Promise<string> {
    return (await this.reader.withBody(letter)).body;
  }

  /**
   * Counts the selected dead letters. If `complete` is false, there may be more than `matched`.
   * @param until time in epoch milliseconds after which no more dead letters are counted
   */
  async count(selection: DeadLetterSelection, until = Infinity): Promise<{ matched: number; complete: boolean }> {
    let matched = 0;
    for await (const { selected } of this.#selected(selection, [])) {
      if (this.now() >= until) return { matched, complete: false };
      matched += selected.length;
    }
    return { matched, complete: true };
  }

  /**
   * Counts the matching dead letters by event type, reason, webhook and partner.
   * @param until time in epoch milliseconds after which no more dead letters are counted
   */
  async facets(filter: DeadLetterFilter, until = Infinity): Promise<DeadLetterFacets & { readonly complete: boolean }> {
    const counts = new FacetCounts();
    for await (const { selected } of this.#selected({ ids: [], filter }, [])) {
      if (this.now() >= until) return { ...counts.facets, complete: false };
      for (const { stored } of selected) counts.add(stored);
    }
    return { ...counts.facets, complete: true };
  }

  /**
   * Replays the selected dead letters in slices. For each slice it reports the replay to Kafka, stores the new jobs, and
   * then removes the dead letters. If the process crashes before the removal, the dead letters are still there, so no
   * delivery is lost.
   * @param until time in epoch milliseconds after which no further slice is begun
   */
  async replay(selection: DeadLetterSelection, until = Infinity): Promise<ReplayReport> {
    const missing: string[] = [];
    return { ...(await this.#replay(this.#selected(selection, missing), until)), missing };
  }

  /** Replays the dead letters with exactly these ids. Ids of dead letters that were removed are skipped. */
  replayLetters(ids: readonly string[]): Promise<Omit<ReplayReport, 'missing'>> {
    return this.#replay(this.#read(ids));
  }

  async #replay(slices: AsyncIterable<Slice>, until = Infinity): Promise<Omit<ReplayReport, 'missing'>> {
    const refused: { id: string; why: string }[] = [];
    const report = { replayed: 0, deliveries: 0, refused, refusedCount: 0 };
    const end = await this.#walk(slices, until, async (selected, now) => {
      const plans = await Promise.all(
        selected.map(async (letter) => ({
          letter,
          plan: replayOf(await this.reader.withBody(letter), this.webhooks, now),
        })),
      );
      const jobs = plans.flatMap(({ plan }) => (plan.kind === 'replay' ? plan.jobs : []));
      await this.endings.report(
        plans.flatMap(({ letter, plan }) =>
          plan.kind === 'replay' ? [endingOf(letter.id, 'replayed', now, plan.jobs.map(deliveryId))] : [],
        ),
        report.replayed,
      );
      await Promise.all(jobs.map((job) => this.queue.add({ job, at: now })));
      const done = plans.filter(({ plan }) => plan.kind === 'replay').map(({ letter }) => letter);
      await this.reader.remove(done);
      report.replayed += done.length;
      report.deliveries += jobs.length;
      for (const { letter, plan } of plans) {
        if (plan.kind !== 'refused') continue;
        report.refusedCount += 1;
        if (refused.length < NAMED_REFUSED) refused.push({ id: letter.id, why: plan.why });
      }
      return done;
    });
    return { ...report, ...end };
  }

  /**
   * Removes the selected dead letters.
   * @param until time in epoch milliseconds after which no further slice is begun
   */
  async purge(selection: DeadLetterSelection, until = Infinity): Promise<PurgeReport> {
    const report = { purged: 0, missing: [] as string[] };
    const end = await this.#walk(this.#selected(selection, report.missing), until, async (selected, now) => {
      await this.endings.report(
        selected.map(({ id }) => endingOf(id, 'purged', now, [])),
        report.purged,
      );
      report.purged += await this.reader.remove(selected);
      return selected;
    });
    return { ...report, ...end };
  }

  /**
   * Calls `step` for each slice until the time limit is reached. It always makes at least one call, so repeated requests
   * with `after` reach the end.
   * @param step resolves with the dead letters that were removed
   */
  async #walk(
    slices: AsyncIterable<Slice>,
    until: number,
    step: (selected: readonly FoundDeadLetter[], now: number) => Promise<readonly FoundDeadLetter[]>,
  ): Promise<Pick<ReplayReport, 'complete' | 'after'>> {
    let [hasBegun, after]: [boolean, string | undefined] = [false, undefined];
    for await (const { slice, selected } of slices) {
      const now = this.now();
      if (hasBegun && now >= until) return { complete: false, ...(after === undefined ? {} : { after }) };
      const removed = await step(selected, now);
      [hasBegun, after] = [true, slice.findLast((each) => !removed.includes(each))?.id ?? after];
    }
    return { complete: true };
  }

  /** Yields the selected dead letters in slices, oldest first. Adds ids that name no dead letter to `missing`. */
  async *#selected({ ids, filter, after }: DeadLetterSelection, missing: string[]): AsyncGenerator<Slice> {
    const given = new Set(ids.map((id) => id.toLowerCase()));
    const stored = await this.#ids(filter);
    const named = given.size === 0 ? stored : stored.filter((id) => namesOf(id).some((name) => given.has(name)));
    const known = new Set(named.flatMap(namesOf));
    missing.push(...[...given].filter((id) => !known.has(id)));
    yield* this.#read(after === undefined ? named : named.slice(named.indexOf(after) + 1), filter);
  }

  async *#read(ids: readonly string[], filter: DeadLetterFilter = {}): AsyncGenerator<Slice> {
    for await (const slice of this.reader.read(ids))
      yield { slice, selected: slice.filter(({ stored }) => matches(stored, filter)) };
  }

  /** Returns the ids of the dead letters that may match the filter, oldest first. */
  #ids({ webhook }: DeadLetterFilter): Promise<string[]> {
    return webhook === undefined ? this.reader.ids() : this.reader.idsOf(webhook.toLowerCase());
  }
}

/**
 * Returns the cursor after a page. It has the id of the last dead letter on the page, and the number of older dead letters,
 * which is used if the last one was removed meanwhile. In that case the next page may repeat some dead letters.
 */
function nextOf(last: string | undefined, ids: readonly string[]): { readonly next?: string } {
  const older = last === undefined ? ids.length : ids.indexOf(last);
  return older === 0 ? {} : { next: `${older}.${last ?? ''}` };
}

/** Returns how many ids are older than the previous page. The ids are sorted, oldest first. */
function placeOf(cursor: string, ids: readonly string[]): number {
  const [older = '', last = ''] = cursor.split('.');
  const at = ids.indexOf(last);
  return at === -1 ? Number(older) : at;
}

const endingOf = (
  id: string,
  ended: DeadLetterEnding['ended'],
  at: number,
  deliveries: readonly string[],
): DeadLetterEnding => ({
  v: 1,
  deliveryId: id,
  ended,
  at,
  deliveries: [...deliveries],
});

/**
 * Writes a record to `relay.dead-letters` for each dead letter that an operator replays or purges, so that a recovery does
 * not restore it.
 */
export class DeadLetterEndings {
  constructor(
    private readonly publisher: Publisher,
    private readonly topicPrefix: string,
  ) {}

  /**
   * Resolves when Kafka has stored the records. Call it before the dead letters are removed. If the process crashes before
   * it removes them, the dead letters stay until the operator repeats the request.
   * @param before number of dead letters that the same request has already replayed or purged
   * @throws ProblemError `unavailable` if Kafka does not store the records; these dead letters then stay
   */
  async report(endings: readonly DeadLetterEnding[], before: number): Promise<void> {
    const topic = deadLettersTopic(this.topicPrefix);
    const headers = { 'content-type': 'application/json' };
    const published = endings.map((ending) =>
      this.publisher.publish({ topic, key: ending.deliveryId, value: Buffer.from(JSON.stringify(ending)), headers }),
    );
    await Promise.all(published).catch((cause: unknown) => {
      const done = before === 0 ? 'nothing was changed' : `the change was made for ${before}, the others are unchanged`;
      throw unavailable(`Kafka did not store the record of the change: ${done}; repeat the request later.`, 5, cause);
    });
  }
}

/** A replay or purge of dead letters, as `relay.operations` records it. */
interface DeadLetterChange {
  readonly what: 'replay' | 'purge';
  /** The selection of the request: ids, `all`, or filters. */
  readonly selection: object;
  readonly by: { readonly operator: string; readonly requestId?: string };
}

/**
 * Reports a replay or purge on `relay.operations`, makes it, and then reports its result.
 * @param unreported called if Kafka does not store the result; the change was made and its start was reported
 * @throws ProblemError `unavailable` if Kafka does not store the first report; nothing was changed
 */
export async function makeReported<Report extends PurgeReport | ReplayReport>(
  audit: Pick<Audit, 'report'>,
  { what, selection, by }: DeadLetterChange,
  make: () => Promise<Report>,
  unreported: (error: unknown) => void,
): Promise<Report> {
  await audit.report({ event: `dead-letters.${what}.asked`, ...by, ...selection });
  const report = await make();
  await audit.report({ event: `dead-letters.${what}.done`, ...by, ...report }).catch((error: Error) =>
    // The error says that nothing was changed, which is wrong here, so only its cause is passed.
    unreported(error.cause),
  );
  return report;
}
