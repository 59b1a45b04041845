import type { SeenMark } from '@relay/dedupe';
import { deliveryId as deliveryIdOf, parseDeliveryId } from '@relay/delivery';
import type { AttemptFacts, AttemptRecord } from '@relay/events';

/** A job of an envelope in one of the two queues. */
export interface StoredJob {
  readonly deliveryId: string;
  readonly queue: 'deliveries' | 'dead-letters';
  readonly isRunning: boolean;
  /** Epoch milliseconds at which it is due; undefined: now. */
  readonly dueAt?: number;
  readonly reason?: string;
  readonly lastFailure?: string;
  readonly tries: readonly AttemptFacts[];
  /** Of a dead letter, epoch milliseconds. */
  readonly diedAt?: number;
}

/**
 * - `delivered`, `cancelled`: ended, as its last record says
 * - `dead-letter`: among the dead letters
 * - `waiting`, `running`: its job is in the queue
 * - `replayed`, `purged`: it was a dead letter; a replay is the next series
 * - `pending`: an attempt failed and there is no job: the worker is about to store it, or to report the outcome
 */
export type DeliveryState =
  | 'delivered'
  | 'waiting'
  | 'running'
  | 'dead-letter'
  | 'replayed'
  | 'purged'
  | 'cancelled'
  | 'pending';

export interface DeliveryReport {
  readonly deliveryId: string;
  readonly webhookId: string;
  readonly series: number;
  readonly state: DeliveryState;
  readonly nextAttemptAt?: string;
  readonly reason?: string;
  readonly lastFailure?: string;
  readonly attempts: readonly AttemptRecord[];
}

export interface EnvelopeReport {
  readonly id: string;
  readonly seen: SeenMark | null;
  readonly deliveries: readonly DeliveryReport[];
}

/** Combines the state in Redis and the attempt log of one envelope. The acceptances of a webhook are in order, and their series. */
export function reportOf(
  id: string,
  seen: SeenMark | undefined,
  jobs: readonly StoredJob[],
  records: readonly AttemptRecord[],
): EnvelopeReport {
  const ids = new Set([...records, ...jobs].map((told) => told.deliveryId));
  const inOrder = [...ids]
    .map(parseDeliveryId)
    .filter((named) => named !== undefined)
    .toSorted((a, b) => a.webhookId.localeCompare(b.webhookId) || a.acceptedAt - b.acceptedAt || a.series - b.series);
  const deliveries = inOrder.flatMap((named) => {
    const deliveryId = deliveryIdOf(named);
    const isReplayed = ids.has(deliveryIdOf({ ...named, series: named.series + 1 }));
    const attempts = oncePerAttempt(records.filter((record) => record.deliveryId === deliveryId));
    const own = jobs.filter((job) => job.deliveryId === deliveryId);
    const { webhookId, series } = named;
    return [{ deliveryId, webhookId, series, ...ending(own, attempts, isReplayed), attempts }];
  });
  return { id, seen: seen ?? null, deliveries };
}

/** A dead letter is stored before its job is removed, so where both exist the dead letter counts. */
function ending(
  jobs: readonly StoredJob[],
  attempts: readonly AttemptRecord[],
  isReplayed: boolean,
): Pick<DeliveryReport, 'state' | 'nextAttemptAt' | 'reason' | 'lastFailure'> {
  const last = attempts.at(-1);
  const letter = jobs.find((job) => job.queue === 'dead-letters');
  const job = letter ?? jobs[0];
  if (job === undefined) {
    const reason = last?.reason === undefined ? {} : { reason: last.reason };
    if (last === undefined || last.outcome === 'retry') return { state: 'pending' };
    return { state: last.outcome === 'dead-letter' ? (isReplayed ? 'replayed' : 'purged') : last.outcome, ...reason };
  }
  return {
    state: letter !== undefined ? 'dead-letter' : job.isRunning ? 'running' : 'waiting',
    ...(job.dueAt === undefined ? {} : { nextAttemptAt: new Date(job.dueAt).toISOString() }),
    ...(job.reason === undefined ? {} : { reason: job.reason }),
    ...(job.lastFailure === undefined ? {} : { lastFailure: job.lastFailure }),
  };
}

/** The log is written at least once: a repeat has the same attempt and time. */
function oncePerAttempt(records: readonly AttemptRecord[]): AttemptRecord[] {
  const unique = new Map(records.map((record) => [`${record.attempt} ${record.at} ${record.outcome}`, record]));
  return [...unique.values()].toSorted((a, b) => a.at.localeCompare(b.at) || (a.attempt ?? 0) - (b.attempt ?? 0));
}
