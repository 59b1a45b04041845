import { envelopeIdOf, isDelivery, type Endpoint } from './endpoints.js';
import type { Accepted } from './load.js';
import { quantile } from './oracle.js';

/** No command to the struck shard may hold the others up for longer. */
export const OTHERS_PAUSE_MS = 10_000;

/** What a fault of one shard struck, and when, in milliseconds of `performance.now()`. */
export interface Strike {
  readonly from: number;
  readonly to: number;
  /** Whether an envelope belongs to the shard. */
  readonly has: (envelopeId: string) => boolean;
}

/** What became of the envelopes of the other shards while one was struck. */
export interface Others {
  /** Deliveries while the fault lasted. */
  readonly delivered: number;
  /** Longest time without any. */
  readonly pauseMs: number;
  /** 99th percentile from 202 to answer, of what was accepted while the fault lasted for endpoints that do not fail by themselves. */
  readonly p99Ms: number;
}

export function othersOf(
  { from, to, has }: Strike,
  accepted: ReadonlyMap<string, Accepted>,
  endpoints: readonly Endpoint[],
): Others {
  const isWithin = (at: number): boolean => at >= from && at <= to;
  const times = endpoints
    .flatMap((endpoint) => endpoint.received())
    .filter((request) => isDelivery(request) && !has(envelopeIdOf(request)) && isWithin(request.at))
    .map(({ at }) => at)
    .toSorted((a, b) => a - b);
  const steps = [...times, to].map((at, index) => at - (times[index - 1] ?? from));
  const due = [...accepted].filter(([id, { at }]) => !has(id) && isWithin(at));
  const took = endpoints
    .filter(({ isSteady }) => isSteady)
    .flatMap((endpoint) => {
      const answers = firstAnswers(endpoint);
      return due.flatMap(([id, { at }]) => Math.max(0, (answers.get(id) ?? NaN) - at));
    })
    .filter((ms) => !Number.isNaN(ms));
  return {
    delivered: times.length,
    pauseMs: Math.round(Math.max(...steps)),
    p99Ms: Math.round(quantile(took, 0.99)),
  };
}

/** When an endpoint first answered 2xx, by envelope. */
function firstAnswers({ received }: Endpoint): Map<string, number> {
  const first = new Map<string, number>();
  for (const request of received()) {
    const id = envelopeIdOf(request);
    if (isDelivery(request) && request.answeredAt !== undefined && !first.has(id)) first.set(id, request.answeredAt);
  }
  return first;
}
