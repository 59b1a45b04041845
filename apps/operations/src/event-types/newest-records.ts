import { compilePayloadSchema } from '@relay/event-types';
import { type LogRecord, readRecord, topicOf } from '@relay/events';
import type { JsonFault } from '@relay/json';
import { answeredWithin, type LogFetcher } from '@relay/kafka';

/** The newest records of a topic, judged by a schema. */
export interface Verdict {
  /** Number of envelopes that were checked. */
  records: number;
  refused: number;
  /** The first reasons, each once: pointers, and texts without values of payloads. */
  readonly reasons: JsonFault[];
  /** Why records were left out: Kafka did not answer, or a bound of the request was reached. */
  incomplete?: 'kafka' | 'limit';
}

const BOUNDS = { records: 1_000, reasons: 3, bytes: 64 * 1024 * 1024, readMs: 4_000, answerMs: 6_000 };
const FETCH = { maxBytes: 1024 * 1024, waitMs: 0 };

type Check = ReturnType<typeof compilePayloadSchema>;

/** Checks the newest records of topics by new schemas. All topics of one object share the bounds of bytes and of time. */
export class NewestRecords {
  readonly #since = performance.now();
  #bytes = 0;
  #isAway = false;

  constructor(
    private readonly fetcher: Pick<LogFetcher, 'bounds' | 'fetch'>,
    private readonly topicPrefix: string,
    private readonly bounds = BOUNDS,
  ) {}

  /** Never rejects. @param before resolves before anything is read; if it rejects, nothing is */
  async judge(type: string, schema: Readonly<Record<string, unknown>>, before: () => Promise<void>): Promise<Verdict> {
    const verdict: Verdict = { records: 0, refused: 0, reasons: [] };
    const read = async (): Promise<void> => {
      await before();
      await this.#read(topicOf(this.topicPrefix, type), compilePayloadSchema(schema), verdict);
    };
    const leftMs = Math.max(0, this.bounds.answerMs - this.#elapsed);
    if (!this.#isAway) await answeredWithin(leftMs, read()).catch(() => (this.#isAway = true));
    // A copy, because a late answer of Kafka still changes the verdict.
    return this.#isAway ? { ...verdict, reasons: [...verdict.reasons], incomplete: 'kafka' } : verdict;
  }

  get #elapsed(): number {
    return performance.now() - this.#since;
  }

  async #read(topic: string, check: Check, verdict: Verdict): Promise<void> {
    for (const { partition, from, end } of await this.#ranges(topic)) {
      for (let next = from; next < end;) {
        const [part] = await this.fetcher.fetch(topic, new Map([[partition, next]]), FETCH);
        // The remaining records belong to a transaction that is still open.
        if (part === undefined || part.next <= next) break;
        for (const record of part.records.filter(({ offset }) => offset < end)) {
          if (this.#elapsed > this.bounds.readMs || this.#bytes > this.bounds.bytes) {
            verdict.incomplete = 'limit';
            return;
          }
          this.#judge(record, topic, check, verdict);
        }
        next = part.next;
      }
    }
  }

  /** Returns the newest records by partition: each partition has an equal share of what those with fewer records leave. */
  async #ranges(topic: string): Promise<{ partition: number; from: number; end: number }[]> {
    const [first, ends] = await Promise.all(
      (['first', 'end'] as const).map(async (which) => (await this.fetcher.bounds([topic], which)).get(topic) ?? []),
    );
    const sizes = (ends ?? []).map((end, partition) => ({ partition, end, size: end - (first?.[partition] ?? end) }));
    let left = this.bounds.records;
    return sizes
      .toSorted((a, b) => a.size - b.size)
      .map(({ partition, end, size }, index) => {
        const taken = Math.min(size, Math.floor(left / (sizes.length - index)));
        left -= taken;
        return { partition, from: end - taken, end };
      });
  }

  #judge(record: LogRecord, topic: string, check: Check, verdict: Verdict): void {
    this.#bytes += record.value?.length ?? 0;
    const read = readRecord(record, topic, this.topicPrefix);
    if (read.kind === 'poison') return;
    const { payload } = JSON.parse(read.envelope.bytes.toString()) as { payload: unknown };
    const faults = check(payload);
    verdict.records += 1;
    if (faults.length > 0) verdict.refused += 1;
    for (const { pointer, detail } of faults) {
      const isKnown = verdict.reasons.some((known) => known.pointer === pointer && known.detail === detail);
      if (!isKnown && verdict.reasons.length < this.bounds.reasons) verdict.reasons.push({ pointer, detail });
    }
  }
}
