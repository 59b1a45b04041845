import { NO_WEBHOOK, type DeliveryJob } from '@relay/jobs';
import type { DeadLetter } from './dead-letter.js';

export interface Registrations {
  find(id: string): { readonly partnerId: string } | undefined;
  matching(
    eventType: string,
    audience: readonly string[],
  ): readonly { readonly id: string; readonly partnerId: string }[];
}

export type DeadLetterReplay =
  | { readonly kind: 'replay'; readonly jobs: readonly DeliveryJob[] }
  /** `why` tells the operator what to do instead. */
  | { readonly kind: 'refused'; readonly why: string };

/**
 * The jobs that a replay makes of a dead letter: its delivery under the next replay number, with all attempts and the whole
 * horizon. The dead letter of a whole envelope goes to every webhook that matches now.
 * @param now epoch milliseconds
 */
export function replayOf(letter: DeadLetter, webhooks: Registrations, now: number): DeadLetterReplay {
  if (letter.body === '')
    return refused('Redis has lost the body: have the source send the envelope under a new id, then purge it');
  if (letter.webhookId !== NO_WEBHOOK) {
    const webhook = webhooks.find(letter.webhookId);
    if (webhook === undefined) return refused('its webhook was deleted: purge it');
    return { kind: 'replay', jobs: [jobOf(letter, letter.webhookId, webhook.partnerId, now)] };
  }
  if (letter.reason === 'id_conflict')
    return refused(
      'its envelope id was first used with other content, which endpoints already have: send this content under a new id, then purge it',
    );
  const audience = letter.partnerId === '' ? [] : letter.partnerId.split(',');
  const matching = webhooks.matching(letter.eventType, audience);
  if (matching.length === 0) return refused('no webhook matches it now: register one, or purge it');
  return { kind: 'replay', jobs: matching.map(({ id, partnerId }) => jobOf(letter, id, partnerId, now)) };
}

/** Earlier attempts that a replayed delivery still shows. */
const KEPT_TRIES = 50;

const refused = (why: string): DeadLetterReplay => ({ kind: 'refused', why });

function jobOf(letter: DeadLetter, webhookId: string, partnerId: string, now: number): DeliveryJob {
  const { v, envelopeId, eventType, hash, acceptedAt, waitedSince, traceparent, tries, body } = letter;
  return {
    v,
    webhookId,
    partnerId,
    envelopeId,
    eventType,
    hash,
    body,
    ...(traceparent === undefined ? {} : { traceparent }),
    ...(tries === undefined ? {} : { tries: tries.slice(-KEPT_TRIES) }),
    // A new id: BullMQ ignores an add under an id that it holds, and records of attempts must tell the replays apart.
    series: letter.series + 1,
    attempts: 0,
    acceptedAt: now,
    // Names the acceptance, so that the replays of two dead letters of one envelope are two deliveries.
    waitedSince: waitedSince ?? acceptedAt,
  };
}
