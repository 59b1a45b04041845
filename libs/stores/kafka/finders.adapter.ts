import { AttemptRecord, deliveryAttemptsTopic, partitionOf, readRecord, topicOf } from '@relay/events';
import type { EnvelopeRecord, EnvelopeType, LogRecord } from '@relay/events';
import { answeredWithin, type KeptAdmin } from './kept-admin.adapter.js';
import type { LogFetcher } from './log-fetcher.adapter.js';
import { rangesWithin, type LogRange, type TimeWindow } from './topic-reader.adapter.js';

/** The envelope whose attempts are sought, and the times around which to look, in epoch milliseconds. */
export interface SoughtAttempts {
  readonly envelopeId: string;
  /** Times at which attempts and deliveries ended. */
  readonly moments: readonly number[];
  /** If set, the log is also read from this time to its end. */
  readonly since?: number | undefined;
}

/**
 * Windows around the end of an attempt; the first is tried first. A worker reports an attempt within a second of its end.
 * However, clocks differ, and a record is stored late if a broker was away.
 */
const WINDOWS = [
  { beforeMs: 2_000, afterMs: 5_000 },
  { beforeMs: 60_000, afterMs: 120_000 },
];
/**
 * A fetch does not wait for new records, because every wanted record exists already, unless its transaction is still open.
 */
const FETCH = { maxBytes: 256 * 1024, waitMs: 0 };
/** Limits of one search. A busy partition gets 64 MiB of records in some minutes. */
const BOUNDS = { maxBytes: 64 * 1024 * 1024, answerMs: 5_000 };
/** Maximum of rounds that follow attempts: each attempt names the time of the next one. */
const MOST_FOLLOWED = 10;

/** Finds the attempts of an envelope on `relay.delivery-attempts` by their times, without reading the records in between. */
export class AttemptFinder {
  readonly #topic: string;

  /** @param admin finds the offsets that belong to a time */
  constructor(
    private readonly fetcher: Pick<LogFetcher, 'fetch' | 'partitions' | 'close'>,
    private readonly admin: KeptAdmin,
    topicPrefix: string,
    private readonly bounds = BOUNDS,
  ) {
    this.#topic = deliveryAttemptsTopic(topicPrefix);
  }

  /**
   * Returns the attempts that were reported around these moments, oldest first. It also looks around the times that the
   * attempts name for the next attempt. A record that the log has twice is returned twice.
   * @throws Error if the brokers do not answer in time
   */
  find(sought: SoughtAttempts): Promise<AttemptRecord[]> {
    return answeredWithin(this.bounds.answerMs, this.#find(sought));
  }

  close(): Promise<void> {
    return this.fetcher.close();
  }

  async #find({ envelopeId, moments, since }: SoughtAttempts): Promise<AttemptRecord[]> {
    const search = new Search(envelopeId);
    const [narrow, wide] = WINDOWS.map((window) => windowsOf(moments, window));
    const open = since === undefined ? [] : [{ since, until: undefined }];
    await this.#read(search, [...(narrow ?? []), ...open]);
    if (moments.some((moment) => !search.hasEnd(moment))) await this.#read(search, wide ?? []);
    const looked = new Set(moments);
    for (let round = 0; round < MOST_FOLLOWED; round += 1) {
      const next = search.found.flatMap(({ nextAt }) => (nextAt === undefined ? [] : [Date.parse(nextAt)]));
      const fresh = next.filter((at) => !looked.has(at) && at < Date.now() && !search.hasBegun(at));
      if (fresh.length === 0) break;
      for (const at of fresh) looked.add(at);
      await this.#read(search, windowsOf(fresh, { beforeMs: 1_000, afterMs: 30_000 }));
    }
    return search.found.toSorted((a, b) => a.at.localeCompare(b.at));
  }

  /**
   * Reads the envelope's partition. If the first attempt is not there, it also reads the partitions that the envelope had
   * while the topic had fewer partitions.
   */
  async #read(search: Search, windows: readonly TimeWindow[]): Promise<void> {
    const count = (await this.fetcher.partitions([this.#topic])).get(this.#topic) ?? 0;
    const own = partitionOf(search.envelopeId, count);
    const earlier = new Set(Array.from({ length: count }, (_, index) => partitionOf(search.envelopeId, index + 1)));
    earlier.delete(own);
    for (const window of windows) {
      const ranges = await this.admin.ask((admin) => rangesWithin(admin, this.#topic, window));
      const rangeOf = (partition: number) => ranges.find((range) => range.partition === partition);
      for (const partition of new Set([own, ...search.partitions])) await this.#readRange(search, rangeOf(partition));
      if (search.hasFirst) continue;
      for (const partition of earlier) await this.#readRange(search, rangeOf(partition));
    }
  }

  async #readRange(search: Search, range: LogRange | undefined): Promise<void> {
    if (range === undefined) return;
    const { partition, end } = range;
    for (let next = range.from; next < end && search.bytes < this.bounds.maxBytes;) {
      const [part] = await this.fetcher.fetch(this.#topic, new Map([[partition, next]]), FETCH);
      if (part === undefined || part.next <= next) return;
      for (const record of part.records) search.take(partition, record);
      next = part.next;
    }
  }
}

/** Collects the attempts of one envelope; a record that is read twice is taken once. */
class Search {
  readonly found: AttemptRecord[] = [];
  bytes = 0;
  /** Partitions in which a record of the envelope was found. */
  readonly partitions = new Set<number>();
  readonly #places = new Set<string>();

  constructor(readonly envelopeId: string) {}

  /** Whether the first attempt of the original delivery (not of a replay) was found. */
  get hasFirst(): boolean {
    return this.found.some(({ deliveryId, attempt }) => attempt === 1 && deliveryId.split('_')[3] === '0');
  }

  hasEnd(moment: number): boolean {
    return this.found.some(({ at, durationMs = 0 }) => Math.abs(Date.parse(at) + durationMs - moment) <= 1);
  }

  /** Whether an attempt began at this moment or within a minute after it. */
  hasBegun(moment: number): boolean {
    return this.found.some(({ at }) => Date.parse(at) >= moment && Date.parse(at) < moment + 60_000);
  }

  take(partition: number, { key, value, offset }: LogRecord): void {
    this.bytes += value?.length ?? 0;
    const place = `${partition} ${offset}`;
    if (key?.toString() !== this.envelopeId || value === null || this.#places.has(place)) return;
    this.#places.add(place);
    const record = readAttempt(value);
    if (record === undefined) return;
    this.found.push(record);
    this.partitions.add(partition);
  }
}

/** Returns a record of an attempt; undefined for any other record. */
export function readAttempt(value: Buffer): AttemptRecord | undefined {
  try {
    return AttemptRecord.safeParse(JSON.parse(value.toString('utf8'))).data;
  } catch {
    return undefined;
  }
}

/** Returns windows around moments; windows that overlap are merged. */
function windowsOf(
  moments: readonly number[],
  { beforeMs, afterMs }: { readonly beforeMs: number; readonly afterMs: number },
): { since: number; until: number }[] {
  const windows: { since: number; until: number }[] = [];
  for (const moment of moments.toSorted((a, b) => a - b)) {
    const last = windows.at(-1);
    if (last !== undefined && moment - beforeMs <= last.until) last.until = moment + afterMs;
    else windows.push({ since: moment - beforeMs, until: moment + afterMs });
  }
  return windows;
}

/** @property acceptedAt epoch milliseconds; the ids of the envelope's deliveries contain this time */
export interface SoughtEnvelope {
  readonly envelopeId: string;
  readonly eventType: EnvelopeType;
  readonly acceptedAt: number;
}

/** Record of an envelope with its topic and partition. */
export interface FoundEnvelope extends EnvelopeRecord {
  readonly topic: string;
  readonly partition: number;
}

/**
 * Windows around the time of acceptance; the first is tried first. A record is stored within seconds of the acceptance, so
 * few records are read at first. However, clocks differ by up to a minute, and a record is stored late if a broker was away.
 */
const ENVELOPE_WINDOWS = [
  { beforeMs: 1_000, afterMs: 3_000 },
  { beforeMs: 60_000, afterMs: 120_000 },
];

/** Finds the record of an envelope by the time of its acceptance, because neither Kafka nor Redis has an index of ids. */
export class EnvelopeFinder {
  /** @param admin finds the offsets that belong to a time */
  constructor(
    private readonly fetcher: Pick<LogFetcher, 'fetch' | 'close'>,
    private readonly admin: KeptAdmin,
    private readonly topicPrefix: string,
  ) {}

  /**
   * Returns the first record with this id that was stored around the time of acceptance; undefined if the log no longer has
   * one.
   * @throws Error if the brokers do not answer in time
   */
  find(sought: SoughtEnvelope): Promise<FoundEnvelope | undefined> {
    return answeredWithin(BOUNDS.answerMs, this.#find(sought));
  }

  close(): Promise<void> {
    return this.fetcher.close();
  }

  async #find(sought: SoughtEnvelope): Promise<FoundEnvelope | undefined> {
    const topic = topicOf(this.topicPrefix, sought.eventType);
    for (const { beforeMs, afterMs } of ENVELOPE_WINDOWS) {
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
    left: Map<number, Pick<LogRange, 'from' | 'end'>>,
    sought: SoughtEnvelope,
  ): Promise<FoundEnvelope | undefined> {
    for (let bytes = 0; left.size > 0 && bytes < BOUNDS.maxBytes;) {
      const from = new Map([...left].map(([partition, range]) => [partition, range.from]));
      const parts = await this.fetcher.fetch(topic, from, FETCH);
      let hasMoved = false;
      for (const { partition, records, next } of parts) {
        for (const record of records) {
          bytes += record.value?.length ?? 0;
          if (!isNamed(record.value, sought.envelopeId)) continue;
          const read = readRecord(record, topic, this.topicPrefix);
          if (read.kind === 'envelope' && read.envelope.id === sought.envelopeId) return { ...read, topic, partition };
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

/** Whether the bytes contain the id, in upper or lower case. This costs a tenth of reading an envelope. */
const isNamed = (value: Buffer | null, id: string): boolean =>
  value !== null && (value.includes(id) || value.toString('latin1').toLowerCase().includes(id));
