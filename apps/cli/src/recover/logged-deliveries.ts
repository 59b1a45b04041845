import { hash } from 'node:crypto';
import {
  DeadLetter,
  DeadLetterEnding,
  type DeadLetterReader,
  type FoundDeadLetter,
  type WebhookFinder,
  replayOf,
} from '@relay/dead-letters';
import { deliveryId } from '@relay/delivery';
import type { AttemptRecord, EnvelopeRecord } from '@relay/events';
import { newJob, type QueuedDelivery } from '@relay/jobs';
import type { LogRange } from '@relay/kafka';
import { type RetryQueue, standing, type Standing, standingAfter } from '@relay/retry';
import type { RecoveryLog } from './recovery-log.adapter.js';

/**
 * The outcomes of deliveries in the attempt log. An attempt that made its delivery a dead letter does not make the delivery
 * final here. The record in `relay.dead-letters` does; if that record is missing, one more attempt creates it again.
 */
export class Outcomes {
  readonly #final = new IdSet();
  readonly #standing = new Map<string, Standing>();

  take(record: AttemptRecord): void {
    const { deliveryId: id, outcome } = record;
    if (outcome === 'delivered' || outcome === 'cancelled') {
      this.#final.add(id);
      this.#standing.delete(id);
      return;
    }
    if (this.#final.has(id)) return;
    this.#standing.set(id, standingAfter(record, this.#standing.get(id)));
  }

  isFinal(id: string): boolean {
    return this.#final.has(id);
  }

  standingOf(id: string): Standing | undefined {
    return this.#standing.get(id);
  }
}

type LoggedDeadLetter =
  | { readonly kind: 'letter'; readonly id: string; readonly letter: DeadLetter }
  | { readonly kind: 'end'; readonly end: DeadLetterEnding };

/**
 * Parses a record of `relay.dead-letters`. Returns undefined if it is neither a dead letter nor the end of a dead letter.
 */
export function readLetter(value: Buffer | null): LoggedDeadLetter | undefined {
  try {
    const record: unknown = JSON.parse(value?.toString('utf8') ?? 'null');
    const end = DeadLetterEnding.safeParse(record);
    if (end.success) return { kind: 'end', end: end.data };
    const letter = DeadLetter.safeParse(record);
    // A dead letter without a body was written after Redis had lost the body. The event log still has the body, so this
    // record is ignored and the delivery is made again.
    return letter.success && letter.data.body !== ''
      ? { kind: 'letter', id: deliveryId(letter.data), letter: letter.data }
      : undefined;
  } catch {
    return undefined;
  }
}

/** All dead letters in the log, and how operators ended them. Bodies are not kept in memory; they are read again later. */
export class LoggedDeadLetters {
  readonly #known = new IdSet();
  readonly #ended = new Map<string, DeadLetterEnding>();

  take(logged: LoggedDeadLetter): void {
    if (logged.kind === 'letter') this.#known.add(logged.id);
    else {
      this.#known.add(logged.end.deliveryId);
      this.#ended.set(logged.end.deliveryId, logged.end);
    }
  }

  /** Whether the delivery is a dead letter, or was a dead letter until an operator replayed or purged it. */
  knows(id: string): boolean {
    return this.#known.has(id);
  }

  /** Returns how an operator ended the dead letter; undefined if it still exists. */
  endOf(id: string): DeadLetterEnding | undefined {
    return this.#ended.get(id);
  }
}

/**
 * How much the clocks of two ingresses may differ. Because of this difference, a webhook can look younger than an envelope
 * that another ingress accepted after the webhook was registered.
 */
export const CLOCK_TOLERANCE_MS = 60_000;

export interface Candidate {
  readonly id: string;
  readonly partnerId: string;
  readonly createdAt: number;
}

export interface LoggedDeliveries {
  readonly outcomes: Outcomes;
  readonly letters: LoggedDeadLetters;
}

/**
 * Returns the deliveries of an envelope that have no final outcome, each at its position in the retry schedule.
 * `alreadyFinal` is the number of its other deliveries.
 */
export function recoveryOf(
  record: EnvelopeRecord,
  candidates: readonly Candidate[],
  { outcomes, letters }: LoggedDeliveries,
  now: number,
): { readonly deliveries: readonly QueuedDelivery[]; readonly alreadyFinal: number } {
  const { envelope, acceptedAt } = record;
  const { id: envelopeId, contentHash } = envelope;
  const deliveries: QueuedDelivery[] = [];
  let alreadyFinal = 0;
  for (const webhook of candidates) {
    if (webhook.createdAt > acceptedAt + CLOCK_TOLERANCE_MS) continue;
    const id = deliveryId({ webhookId: webhook.id, envelopeId, hash: contentHash, series: 0, acceptedAt });
    if (outcomes.isFinal(id) || letters.knows(id)) {
      alreadyFinal += 1;
      continue;
    }
    deliveries.push(standing(newJob(webhook, record), outcomes.standingOf(id), now));
  }
  return { deliveries, alreadyFinal };
}

/** How long dead letters are kept. */
const KEPT_MS = 30 * 86_400_000;
/**
 * The log still holds the attempts of replays that are younger than this. Older replays have ended, because they take 96 h
 * at most.
 */
const REPLAYS_TOLD_MS = 7 * 86_400_000;

/**
 * Restores the dead letters that no operator ended, and the deliveries of replays that have no final outcome.
 * @param logged its `letters` must contain the whole topic
 * @param isLost whether the shard of an envelope is being recovered. Other shards still have their dead letters
 */
export async function recoverLetters(
  log: RecoveryLog,
  logged: LoggedDeliveries,
  queue: RetryQueue,
  webhooks: WebhookFinder,
  { now, isLost }: { readonly now: number; readonly isLost: (envelopeId: string) => boolean },
  progress: (records: number) => void,
): Promise<{ deadLetters: number; deliveries: number }> {
  const counts = { deadLetters: 0, deliveries: 0 };
  await log.read(log.deadLetters, async (_range: LogRange, messages) => {
    const adds = messages.flatMap(({ value }) => {
      const read = readLetter(value);
      if (read?.kind !== 'letter' || !isLost(read.letter.envelopeId)) return [];
      const end = logged.letters.endOf(read.id);
      if (end !== undefined) {
        const jobs = replaysOf(read.letter, end, logged, webhooks, now) ?? [];
        counts.deliveries += jobs.length;
        return jobs.map((job) => queue.add(job));
      }
      if (read.letter.diedAt < now - KEPT_MS) return [];
      counts.deadLetters += 1;
      return [queue.addDeadLetter(read.letter)];
    });
    await Promise.all(adds);
    progress(messages.length);
  });
  return counts;
}

/**
 * Removes the dead letters that an operator had already ended before Redis was restored from an older copy. Deliveries of
 * replays that have no final outcome are made again. If a replay cannot be made again, its dead letter stays.
 * @param logged must contain both topics, the dead letters and the attempts
 */
export async function endLetters(
  reader: Pick<DeadLetterReader, 'ids' | 'read' | 'withBody' | 'remove'>,
  logged: LoggedDeliveries,
  queue: RetryQueue,
  webhooks: WebhookFinder,
  now: number,
): Promise<{ ended: number; deliveries: number }> {
  const counts = { ended: 0, deliveries: 0 };
  for await (const slice of reader.read(await reader.ids())) {
    const ended: FoundDeadLetter[] = [];
    for (const letter of slice) {
      const end = logged.letters.endOf(letter.id);
      if (end === undefined) continue;
      const jobs = replaysOf(await reader.withBody(letter), end, logged, webhooks, now);
      if (jobs === undefined) continue;
      await Promise.all(jobs.map((job) => queue.add(job)));
      counts.deliveries += jobs.length;
      ended.push(letter);
    }
    counts.ended += await reader.remove(ended);
  }
  return counts;
}

/** Returns the deliveries of a replay that have no final outcome; undefined if the dead letter cannot be replayed. */
function replaysOf(
  letter: DeadLetter,
  end: DeadLetterEnding,
  { letters, outcomes }: LoggedDeliveries,
  webhooks: WebhookFinder,
  now: number,
): QueuedDelivery[] | undefined {
  if (end.ended === 'purged' || end.at < now - REPLAYS_TOLD_MS) return [];
  const plan = replayOf(letter, webhooks, now);
  if (plan.kind === 'refused') return undefined;
  return plan.jobs
    .filter((job) => {
      const id = deliveryId(job);
      return end.deliveries.includes(id) && !outcomes.isFinal(id) && !letters.knows(id);
    })
    .map((job) => standing(job, outcomes.standingOf(deliveryId(job)), now));
}

/** The value of a free slot. */
const EMPTY = 0n;
/** The set grows when more than this share of its slots is taken. */
const MOST_FULL = 0.6;

/**
 * A set of ids that stores only 64 bits of the SHA-256 of each id, so an id costs 13 to 27 bytes. If the set has a hundred
 * million ids, the chance that it reports an id that was never added is 1 in 180,000 million.
 */
export class IdSet {
  #slots = new BigUint64Array(1 << 12);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(id: string): void {
    if (this.#put(keyOf(id)) && this.#size > this.#slots.length * MOST_FULL) this.#grow();
  }

  /** @param key `keyOf(id)`. A caller that searches several sets passes the key so that it is computed only once */
  has(id: string, key = keyOf(id)): boolean {
    return this.#slots[this.#slotOf(key)] === key;
  }

  #put(key: bigint): boolean {
    const slot = this.#slotOf(key);
    if (this.#slots[slot] === key) return false;
    this.#slots[slot] = key;
    this.#size += 1;
    return true;
  }

  /** Returns the index of the slot with the key, or of the free slot for the key. */
  #slotOf(key: bigint): number {
    const mask = this.#slots.length - 1;
    let slot = Number(key & 0xffff_ffffn) & mask;
    while (this.#slots[slot] !== EMPTY && this.#slots[slot] !== key) slot = (slot + 1) & mask;
    return slot;
  }

  #grow(): void {
    const keys = this.#slots;
    this.#slots = new BigUint64Array(keys.length * 2);
    this.#size = 0;
    for (const key of keys) if (key !== EMPTY) this.#put(key);
  }
}

const keyOf = (id: string): bigint => hash('sha256', id, 'buffer').readBigUInt64LE(0) || 1n;

/** The window is divided into this many parts. A part is forgotten as a whole, so an id is known for 23 to 24 parts. */
const PARTS = 24;

/**
 * The ids of a partition in the latest window, measured by the times of its records. An id is never known for longer than
 * the window, so a second acceptance after the window is not taken for a repeat.
 */
export class RecentIds {
  readonly #parts = new Map<number, IdSet>();
  readonly #partMs: number;

  constructor(private readonly windowMs: number) {
    this.#partMs = windowMs / PARTS;
  }

  get size(): number {
    return [...this.#parts.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Whether the id was added less than a window before `at`, in epoch milliseconds. */
  has(id: string, at: number): boolean {
    if (this.#parts.size === 0) return false;
    const key = keyOf(id);
    for (const [part, ids] of this.#parts)
      if (part * this.#partMs > at - this.windowMs && ids.has(id, key)) return true;
    return false;
  }

  add(id: string, at: number): void {
    const part = Math.floor(at / this.#partMs);
    const ids = this.#parts.get(part) ?? new IdSet();
    ids.add(id);
    this.#parts.set(part, ids);
    for (const each of this.#parts.keys()) if (each * this.#partMs <= at - this.windowMs) this.#parts.delete(each);
  }
}
