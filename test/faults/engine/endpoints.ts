import type { Client } from '../../support/client.js';
import type { Answer, Received, Receiver } from '../../support/receiver.js';
import { chanceOf } from './random.js';

/** An endpoint of the load: what it subscribes to, and how it answers. */
interface Kind {
  readonly path: string;
  readonly eventType: string;
  /** It answers 410 now and then, and is disabled by that until its partner enables it. */
  readonly isDisabling?: boolean;
  /** It answers each request at once, and well. */
  readonly isSteady?: boolean;
  /**
   * @param chance in [0, 1), the same for the same request of the same delivery; `ofEnvelope` whatever the request
   * @param longShare of the requests that a fault wants to last
   */
  readonly answer: (chance: number, ofEnvelope: number, longShare: number) => Answer;
}

const within = (chance: number, from: number, to: number): number =>
  Math.floor(from + ((chance * 7919) % 1) * (to - from));

const LONG_MS = 3_000;

/** Fast, flaky, slow and gone ones, each an origin of its own, so that whatever is interrupted, retries wait and attempts run. */
const KINDS: readonly Kind[] = [
  {
    path: '/steady',
    eventType: 'task.created',
    isSteady: true,
    answer: (chance) => ({ status: 204, delayMs: within(chance, 0, 10) }),
  },
  {
    path: '/second',
    eventType: 'task.created',
    isSteady: true,
    answer: (chance) => ({ status: 200, delayMs: within(chance, 0, 40) }),
  },
  {
    path: '/flaky',
    eventType: 'task.updated',
    answer: (chance, _ofEnvelope, longShare) => {
      if (chance < 0.15) return { status: 500, delayMs: within(chance, 0, 50) };
      if (chance < 0.18) return 'reset';
      if (chance < 0.2) return { status: 503, headers: { 'retry-after': '1' } };
      if (chance >= 0.24 && chance < 0.24 + longShare) return { status: 204, delayMs: LONG_MS };
      return { status: 204, delayMs: chance < 0.24 ? within(chance, 500, 1_500) : within(chance, 5, 100) };
    },
  },
  { path: '/slow', eventType: 'plan.created', answer: (chance) => ({ status: 204, delayMs: within(chance, 50, 400) }) },
  // By envelope, whatever the attempt. Gone, not failing: a failing one would be left alone for longer than a run lasts.
  {
    path: '/gone',
    eventType: 'message.created',
    isDisabling: true,
    answer: (_chance, ofEnvelope) => ({ status: ofEnvelope < 0.1 ? 410 : 204 }),
  },
];

/** Event types of the load, as often as they stand here. */
export const MIX = [
  ...Array.from({ length: 4 }, () => 'task.created'),
  ...Array.from({ length: 3 }, () => 'task.updated'),
  ...Array.from({ length: 2 }, () => 'plan.created'),
  'message.created',
];

/** A breaker leaves an endpoint alone for longer, retries come sooner. */
const PROBE_AFTER_MS = 10_000;

/** Five attempts within some ten seconds: retries wait at any moment, and what is dead is so before the run ends. */
export const RETRY_SCHEDULE = '1s,2s,2s,3s';

export interface Endpoint {
  readonly webhookId: string;
  readonly eventType: string;
  readonly isDisabling: boolean;
  readonly isSteady: boolean;
  /** What it has received so far. */
  readonly received: () => readonly Received[];
}

export const envelopeIdOf = ({ headers }: Received): string => String(headers['webhook-id']);
export const attemptOf = ({ headers }: Received): number => Number(headers['relay-attempt']);
export const isDelivery = ({ status }: Received): boolean => status >= 200 && status < 300;

/** Registers the load's endpoints. */
export async function registerEndpoints(
  partner: Client,
  receiver: Receiver,
  seed: string,
  longShare = 0,
): Promise<Endpoint[]> {
  const endpoints: Endpoint[] = [];
  for (const { path, eventType, answer, isDisabling = false, isSteady = false } of KINDS) {
    const requests = new Map<string, number>();
    let lastAt = performance.now();
    receiver.decide(path, (headers) => {
      const quietMs = performance.now() - lastAt;
      lastAt += quietMs;
      const envelope = [seed, path, headers['webhook-id']].join(':');
      // Counted here, not by `relay-attempt`: an attempt that could not be stored is made again and may succeed then.
      const request = (requests.get(envelope) ?? 0) + 1;
      requests.set(envelope, request);
      // After a silence it is a breaker's probe, and a run has no time for a second opening.
      return answer(
        quietMs > PROBE_AFTER_MS ? 0.99 : chanceOf(`${envelope}:${request}`),
        chanceOf(envelope),
        longShare,
      );
    });
    const url = await receiver.anotherOrigin();
    const webhookId = await partner.register({ eventType, endPointUrl: url(path), apiKey: 'key' });
    endpoints.push({ webhookId, eventType, isDisabling, isSteady, received: () => receiver.at(path) });
  }
  return endpoints;
}
