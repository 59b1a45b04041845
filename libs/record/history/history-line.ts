import { hash } from 'node:crypto';
import { type AttemptFacts, uuidBytes, uuidOf } from '@relay/events';

/** A delivery that was answered 2xx, with its attempts, the last of which succeeded. */
export interface DeliveredLine {
  readonly webhookId: string;
  /** UUID, in lower case. */
  readonly envelopeId: string;
  /** When the relay accepted the envelope, epoch milliseconds. */
  readonly acceptedAt: number;
  /** 0 before any replay, see `Delivery`. */
  readonly series: number;
  readonly attempts: readonly AttemptFacts[];
}

/**
 * @property endedAt when it was stored, epoch milliseconds by Redis' clock
 * @property place its position within that millisecond
 */
export interface HistoryLine extends DeliveredLine {
  readonly endedAt: number;
  readonly place: number;
}

/** The order in which a webhook's lines are shown. */
export const newestFirst = (a: HistoryLine, b: HistoryLine): number => b.endedAt - a.endedAt || b.place - a.place;

/** `since` inclusive, `until` exclusive, epoch milliseconds; `before` is the last line of the previous page. */
export interface HistoryPeriod {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly before?: Pick<HistoryLine, 'endedAt' | 'place'> | undefined;
}

/** An attempt as Redis holds it: begin, duration, status or error, the failure in words, and what the endpoint answered. */
type StoredAttempt = [at: number, durationMs: number, end: number | string, detail?: string, answer?: string];
/** The time from acceptance to the first attempt, the series unless it is 0, and the attempts. */
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

/** Returns a UUID in 22 characters; `idOf` returns it from them. */
export const shortOf = (id: string): string => uuidBytes(id).toString('base64url');
export const idOf = (short: string): string => uuidOf(Buffer.from(short, 'base64url'));

/** An entry of the stream of a webhook. */
export type StreamEntry = [id: string, fields: string[]];

export function lineOf(webhookId: string, [id, fields]: StreamEntry): HistoryLine {
  const [, short = '', , facts = '[]'] = fields;
  const [endedAt = 0, place = 0] = id.split('-').map(Number);
  return { webhookId, envelopeId: idOf(short), ...factsOf(facts), endedAt, place };
}

export const HOUR_MS = 3_600_000;
/** About 900 entries in each bucket of an hour with a thousand deliveries a second, 10 with ten a second. */
const BUCKETS = 4_096;
export const RESTS = 65_536;
/** The webhook of an entry is above rest and millisecond. */
export const WEBHOOKS_FROM = 2 ** 38;
/** Hashes of webhooks, from 1 on: few enough for an entry to be an exact number. */
const FOLDS = 2 ** 15 - 1;

/** The bucket of an envelope's entries, and the rest of its hash, which distinguishes them there. */
export function placeOf(salt: string, envelopeId: string): { bucket: number; rest: number } {
  const fold = Number.parseInt(hash('sha1', salt + envelopeId, 'hex').slice(0, 8), 16);
  return { bucket: fold % BUCKETS, rest: Math.floor(fold / BUCKETS) % RESTS };
}

/** Returns the hash of a webhook. The relay makes ids of webhooks at random, so their last digits need no hash function. */
export const foldOf = (webhookId: string): number => 1 + (Number.parseInt(webhookId.slice(-8), 16) % FOLDS);

/**
 * Returns the epoch hour, the bucket and the entry of a line in the index by envelope, as `history.script.ts` writes them. `relay
 * reshard` copies lines with it.
 * @param at when the line was stored, epoch milliseconds
 */
export function indexedLine(salt: string, envelopeId: string, webhookId: string, at: number) {
  const { bucket, rest } = placeOf(salt, envelopeId);
  const entry = foldOf(webhookId) * WEBHOOKS_FROM + (at % HOUR_MS) * RESTS + rest;
  return { hour: Math.floor(at / HOUR_MS), bucket, entry };
}

/** When the index of an hour is no longer needed, epoch milliseconds. */
export const hourExpiresAt = (hour: number, windowMs: number): number => (hour + 1) * HOUR_MS + windowMs;
