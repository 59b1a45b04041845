import { readRecord, topicOf, type EnvelopeRecord, type EnvelopeType } from '@relay/events';
import { answeredWithin } from './asked-again.adapter.js';
import type { KeptAdmin } from './kept-admin.adapter.js';
import type { LogFetcher } from './log-fetcher.adapter.js';
import { rangesWithin } from './topic-reader.adapter.js';

/** @property acceptedAt epoch milliseconds, as the id of a delivery of it says */
export interface SoughtEnvelope {
  readonly envelopeId: string;
  readonly eventType: EnvelopeType;
  readonly acceptedAt: number;
}

/** Where an envelope stands in Kafka, and what stands there. */
export interface FoundEnvelope extends EnvelopeRecord {
  readonly topic: string;
  readonly partition: number;
}

/**
 * The time of a record against the time of acceptance: a record follows within seconds, so a few are read at first. Clocks differ
 * by up to a minute, and a broker that was away may store a record late.
 */
const WINDOWS = [
  { beforeMs: 1_000, afterMs: 3_000 },
  { beforeMs: 60_000, afterMs: 120_000 },
];
/** Bytes fetched at once of a partition, and read in all for one question. */
const FETCH_BYTES = 256 * 1024;
const MAX_BYTES = 64 * 1024 * 1024;
const ANSWER_MS = 5_000;

/** Finds the record of an envelope by the time of its acceptance: neither Kafka nor Redis has an index of ids. */
export class EnvelopeFinder {
  /** @param admin asks for the offsets of a time */
  constructor(
    private readonly fetcher: Pick<LogFetcher, 'fetch' | 'close'>,
    private readonly admin: KeptAdmin,
    private readonly topicPrefix: string,
  ) {}

  /**
   * The first record with this id that was accepted then, or around then; undefined when the log has none any more.
   * @throws Error when the brokers do not answer in time
   */
  find(sought: SoughtEnvelope): Promise<FoundEnvelope | undefined> {
    return answeredWithin(ANSWER_MS, this.#find(sought));
  }

  close(): Promise<void> {
    return this.fetcher.close();
  }

  async #find(sought: SoughtEnvelope): Promise<FoundEnvelope | undefined> {
    const topic = topicOf(this.topicPrefix, sought.eventType);
    for (const { beforeMs, afterMs } of WINDOWS) {
      const window = { since: sought.acceptedAt - beforeMs, until: sought.acceptedAt + afterMs };
      const ranges = await this.admin.ask((admin) => rangesWithin(admin, topic, window));
      const left = new Map(ranges.filter(({ from, end }) => from < end).map((range) => [range.partition, range]));
      const found = await this.#among(topic, left, sought);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  async #among(
    topic: string,
    left: Map<number, { readonly from: number; readonly end: number }>,
    sought: SoughtEnvelope,
  ): Promise<FoundEnvelope | undefined> {
    for (let bytes = 0; left.size > 0 && bytes < MAX_BYTES;) {
      const from = new Map([...left].map(([partition, range]) => [partition, range.from]));
      // No waiting: every wanted record is there, unless its transaction is still open.
      const parts = await this.fetcher.fetch(topic, from, { maxBytes: FETCH_BYTES, waitMs: 0 });
      let hasMoved = false;
      for (const { partition, records, next } of parts) {
        for (const record of records) {
          bytes += record.value?.length ?? 0;
          const read = isNamed(record.value, sought.envelopeId)
            ? readRecord(record, topic, this.topicPrefix)
            : undefined;
          if (read?.kind === 'envelope' && read.envelope.id === sought.envelopeId) return { ...read, topic, partition };
        }
        const range = left.get(partition);
        if (range === undefined || next <= range.from) continue;
        hasMoved = true;
        if (next >= range.end) left.delete(partition);
        else left.set(partition, { from: next, end: range.end });
      }
      if (!hasMoved) return undefined;
    }
    return undefined;
  }
}

/** Whether the bytes have the id, in any case: a tenth of the cost of reading an envelope. */
const isNamed = (value: Buffer | null, id: string): boolean =>
  value !== null && (value.includes(id) || value.toString('latin1').toLowerCase().includes(id));
