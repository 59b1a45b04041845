import { hash } from 'node:crypto';
import { type AttemptFacts, uuidBytes, uuidOf } from '@relay/events';

/** A delivery that was answered 2xx, with all its attempts. The last attempt is the successful one. */
export interface DeliveredLine {
  readonly webhookId: string;
  /** UUID, in lower case. */
  readonly envelopeId: string;
  /** When the relay accepted the envelope, in epoch milliseconds. */
  readonly acceptedAt: number;
  /** Number of the series: 0 before any replay. */
  readonly series: number;
  readonly attempts: readonly AttemptFacts[];
}

/**
 * A line of the history: a delivery that was answered 2xx, as it was stored.
 * @property endedAt when the line was stored, in epoch milliseconds by Redis' clock
 * @property place position of the line among the lines of the same millisecond
 */
export interface HistoryLine extends DeliveredLine {
  readonly endedAt: number;
  readonly place: number;
}

/** Compares two lines of a webhook in the order in which they are shown. */
export const newestFirst = (a: HistoryLine, b: HistoryLine): number => b.endedAt - a.endedAt || b.place - a.place;

/**
 * The lines to read.
 * @property since earliest time of a line, in epoch milliseconds
 * @property until time in epoch milliseconds; lines of this time and later are left out
 * @property before last line of the previous page; only lines before it are read
 */
export interface HistoryPeriod {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly before?: Pick<HistoryLine, 'endedAt' | 'place'> | undefined;
}

/**
 * An attempt as it is stored in Redis: begin, duration, status or error, description of the failure, and the answer of the
 * endpoint.
 */
type StoredAttempt = [at: number, durationMs: number, end: number | string, detail?: string, answer?: string];
/**
 * A line as it is stored in Redis: time from acceptance to the first attempt, the series unless it is 0, then the attempts.
 */
type StoredLine = (number | StoredAttempt)[];

export const textOf = ({ acceptedAt, series, attempts }: Omit<DeliveredLine, 'webhookId' | 'envelopeId'>): string => {
  const stored: StoredLine = [(attempts[0]?.at ?? 0) - acceptedAt];
  if (series !== 0) stored.push(series);
  for (const { at, durationMs, status, error, detail, answer } of attempts) {
    const end = status ?? error ?? '';
    if (detail === undefined) stored.push([at, durationMs, end]);
    else stored.push(answer === undefined ? [at, durationMs, end, detail] : [at, durationMs, end, detail, answer]);
  }
  return JSON.stringify(stored);
};

export const factsOf = (text: string): Omit<DeliveredLine, 'webhookId' | 'envelopeId'> => {
  const stored = JSON.parse(text) as StoredLine;
  const [waitedMs = 0, series = 0] = stored.filter((each) => typeof each === 'number');
  const attempts = stored.filter((each) => typeof each !== 'number').map(attemptOf);
  return { acceptedAt: (attempts[0]?.at ?? 0) - waitedMs, series, attempts };
};

function attemptOf([at, durationMs, end, detail, answer]: StoredAttempt): AttemptFacts {
  const facts: AttemptFacts = { at, durationMs };
  if (typeof end === 'number') facts.status = end;
  else if (end !== '') facts.error = end;
  if (detail !== undefined) facts.detail = detail;
  if (answer !== undefined) facts.answer = answer;
  return facts;
}

/** Shortens a UUID to 22 characters. `idOf` does the reverse. */
export const shortOf = (id: string): string => uuidBytes(id).toString('base64url');
export const idOf = (short: string): string => uuidOf(Buffer.from(short, 'base64url'));

/** An entry of the stream of one webhook. */
export type StreamEntry = [id: string, fields: string[]];

export function lineOf(webhookId: string, [id, fields]: StreamEntry): HistoryLine {
  const [, short = '', , facts = '[]'] = fields;
  const [endedAt = 0, place = 0] = id.split('-').map(Number);
  return { webhookId, envelopeId: idOf(short), ...factsOf(facts), endedAt, place };
}

export const HOUR_MS = 3_600_000;
/** Number of buckets in an hour. A bucket has about 900 entries at 1,000 deliveries a second, and 9 at 10 a second. */
const BUCKETS = 4_096;
export const RESTS = 65_536;
/**
 * Factor of the webhook's hash in an entry. The lower bits of the entry have the millisecond and the rest of the envelope's
 * hash.
 */
export const WEBHOOKS_FROM = 2 ** 38;
/**
 * Number of different hashes of webhooks, which are 1 to 32,767. With more, an entry might exceed the exact range of a
 * number.
 */
const FOLDS = 2 ** 15 - 1;

/**
 * Returns the bucket in which an envelope's entries are listed, and the rest of the envelope's hash. The rest distinguishes
 * the envelope from most others in the same bucket.
 */
export function placeOf(salt: string, envelopeId: string): { bucket: number; rest: number } {
  const fold = Number.parseInt(hash('sha1', salt + envelopeId, 'hex').slice(0, 8), 16);
  return { bucket: fold % BUCKETS, rest: Math.floor(fold / BUCKETS) % RESTS };
}

/** Returns the hash of a webhook's id. These ids are random, so their last digits can be used without a hash function. */
export const foldOf = (webhookId: string): number => 1 + (Number.parseInt(webhookId.slice(-8), 16) % FOLDS);

/**
 * Returns the position of a history line in the index by envelope: `hour` counts hours since the epoch, `bucket` is a part
 * of that hour's index, and `entry` is the number that stands for the line. The result is the same as in
 * `history.script.ts`. `relay reshard` uses this function to copy lines.
 * @param at when the line was stored, in epoch milliseconds
 */
export function indexedLine(salt: string, envelopeId: string, webhookId: string, at: number) {
  const { bucket, rest } = placeOf(salt, envelopeId);
  const entry = foldOf(webhookId) * WEBHOOKS_FROM + (at % HOUR_MS) * RESTS + rest;
  return { hour: Math.floor(at / HOUR_MS), bucket, entry };
}

/** Returns when the index of an hour expires, in epoch milliseconds. */
export const hourExpiresAt = (hour: number, windowMs: number): number => (hour + 1) * HOUR_MS + windowMs;
