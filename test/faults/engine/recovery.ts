import type { Received } from '../../support/receiver.js';
import { envelopeIdOf, isDelivery, type Endpoint } from './endpoints.js';
import type { Trial } from './trial.js';

/** Whether something was delivered after that time. @param has whether an envelope counts; by default each does */
export const isDelivering = (
  endpoints: readonly Endpoint[],
  at: number,
  has: (envelopeId: string) => boolean = () => true,
): boolean =>
  endpoints.some((endpoint) =>
    endpoint.received().some((request) => request.at > at && isDelivery(request) && has(envelopeIdOf(request))),
  );

/**
 * What was under way when a process ended, as a question to ask again and again: is some of it delivered by now?
 * Where nothing was, anything counts.
 */
export function goesOn(endpoints: readonly Endpoint[], at: number): () => boolean {
  const isHeld = (request: Received): boolean =>
    request.at <= at && request.answeredAt === undefined && (request.endedAt ?? at) >= at - 50;
  const held = endpoints.map((endpoint) => ({
    endpoint,
    ids: new Set(endpoint.received().filter(isHeld).map(envelopeIdOf)),
  }));
  const isNothing = held.every(({ ids }) => ids.size === 0);
  const isIt = (request: Received, ids: Set<string>): boolean =>
    request.at > at && isDelivery(request) && (isNothing || ids.has(envelopeIdOf(request)));
  return () => held.some(({ endpoint, ids }) => endpoint.received().some((request) => isIt(request, ids)));
}

/** Starts again what has ended by itself, as what supervises it would. @returns how many that were */
export function startEnded(trial: Pick<Trial, 'apps' | 'interrupted'>): number {
  const ended = trial.apps.filter((app) => app.hasEndedByItself);
  for (const app of ended) {
    trial.interrupted(performance.now(), app.endedAt);
    app.start();
  }
  return ended.length;
}
