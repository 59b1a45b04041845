import type { Received } from '../../support/receiver.js';
import { isDelivery, type Endpoint, envelopeIdOf } from './endpoints.js';
import type { Interruption } from './fault.js';
import type { Accepted } from './load.js';

/**
 * One flush is due 20 ms after an answer, one at a time for each partition, and Redis answers it from the disk: what was
 * answered within this before an interruption may not have been marked yet.
 */
export const UNMARKED_MS = 250;

/** Fast enough whatever it was before. */
const NORMAL_MS = 250;

/** A dead letter as `relay dead-letters list --json` shows it. */
export interface Letter {
  readonly envelopeId: string;
  readonly webhookId: string;
}

export interface Counts {
  readonly owed: number;
  readonly delivered: number;
  readonly dead: number;
  /** Deliveries, by webhook and envelope, that are neither. */
  readonly lost: readonly string[];
  readonly duplicates: readonly string[];
}

const nameOf = (webhookId: string, envelopeId: string): string => `${webhookId} ${envelopeId}`;

/**
 * Counts from outside: 202s against the answers of the endpoints and the list of dead letters. Delivered is what an
 * endpoint answered 2xx on a connection that was still there; a duplicate is a request too many that it would have
 * answered so, whether the relay still heard it or not.
 */
export function count(
  accepted: ReadonlyMap<string, Accepted>,
  endpoints: readonly Endpoint[],
  letters: readonly Letter[],
): Counts {
  const buried = new Set(letters.map(({ webhookId, envelopeId }) => nameOf(webhookId, envelopeId)));
  const counts = { owed: 0, delivered: 0, dead: 0, lost: [] as string[], duplicates: [] as string[] };
  for (const { webhookId, eventType, received } of endpoints) {
    const answered = new Set<string>();
    const seen = new Set<string>();
    for (const request of received()) {
      if (!isDelivery(request)) continue;
      const id = envelopeIdOf(request);
      if (seen.has(id)) counts.duplicates.push(nameOf(webhookId, id));
      seen.add(id);
      if (request.answeredAt !== undefined) answered.add(id);
    }
    for (const [id, { type }] of accepted) {
      if (type !== eventType) continue;
      counts.owed += 1;
      const name = nameOf(webhookId, id);
      if (answered.has(id)) counts.delivered += 1;
      else if (buried.has(name)) counts.dead += 1;
      else counts.lost.push(name);
    }
  }
  return counts;
}

/**
 * Deliveries that were under way at an interruption, or delivered and not yet marked. Where Redis lost what was written
 * since some moment, also every delivery made after it of an envelope accepted before Redis was back: a job that survived
 * can be delivered and gone before its record, whose mark did not survive, is read again.
 * @param heldUpMs by how much other work on the machine held up whoever wrote down the times
 */
export function allowedDuplicates(
  accepted: ReadonlyMap<string, Accepted>,
  endpoints: readonly Endpoint[],
  interruptions: readonly Interruption[],
  heldUpMs = 0,
): number {
  const delivered = endpoints.map((endpoint) => endpoint.received().filter(isDelivery));
  const touched = interruptions.map(({ at, since, lostWrites, has = () => true }) => {
    const [first, last] = [since - UNMARKED_MS - heldUpMs, at + heldUpMs];
    const begun = (request: Received): number =>
      lostWrites ? (accepted.get(envelopeIdOf(request))?.at ?? request.at) : request.at;
    const isTouched = (request: Received): boolean => begun(request) <= last && (request.endedAt ?? last) > first;
    return delivered.map((requests) => new Set(requests.filter(isTouched).map(envelopeIdOf).filter(has)).size);
  });
  return touched.flat().reduce((sum, some) => sum + some, 0);
}

/** The most entries within any second. */
export function mostWithinASecond(times: readonly number[]): number {
  let most = 0;
  let from = 0;
  for (const [index, at] of times.entries()) {
    while ((times[from] ?? at) <= at - 1_000) from += 1;
    most = Math.max(most, index - from + 1);
  }
  return most;
}

/**
 * How long after `from` the answers were as before `struck` again: until the end of the last second whose 99th
 * percentile was more than twice what it was then, or had an answer other than 202.
 */
export function calmAfter(
  answers: readonly { at: number; tookMs: number; status: number }[],
  struck: number,
  from: number,
): number {
  const before = answers.filter(({ at, status }) => at < struck && status === 202).map(({ tookMs }) => tookMs);
  const normal = Math.max(NORMAL_MS, 2 * quantile(before, 0.99));
  let calm = from;
  const after = answers.filter(({ at, tookMs }) => at - tookMs >= from);
  for (let second = from; after.some(({ at }) => at >= second); second += 1_000) {
    const took = after
      .filter(({ at }) => at >= second && at < second + 1_000)
      .map(({ tookMs, status }) => (status === 202 ? tookMs : Infinity));
    if (quantile(took, 0.99) > normal) calm = second + 1_000;
  }
  return calm - from;
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
