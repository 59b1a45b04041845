import { hash } from 'node:crypto';

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

/** The end of a UUID is chance, and ours: no need to mix it, as with the ids that sources choose. */
export const foldOf = (webhookId: string): number => 1 + (Number.parseInt(webhookId.slice(-8), 16) % FOLDS);

/** Where the index by envelope shows a line, for who copies lines (`history.script.ts` writes the same). */
export interface IndexedLine {
  /** Epoch hour. */
  readonly hour: number;
  readonly bucket: number;
  readonly entry: number;
}

/** @param at when the line was stored, epoch milliseconds */
export function indexedLine(salt: string, envelopeId: string, webhookId: string, at: number): IndexedLine {
  const { bucket, rest } = placeOf(salt, envelopeId);
  const entry = foldOf(webhookId) * WEBHOOKS_FROM + (at % HOUR_MS) * RESTS + rest;
  return { hour: Math.floor(at / HOUR_MS), bucket, entry };
}

/** When the index of an hour is no longer needed, epoch milliseconds. */
export const hourExpiresAt = (hour: number, windowMs: number): number => (hour + 1) * HOUR_MS + windowMs;
