import { AttemptFacts } from '@relay/events';

/** What the board shows of the data of a job. A member that is not here may hold what an envelope holds, and is left out. */
const SHOWN = new Set([
  'v',
  'webhookId',
  'partnerId',
  'envelopeId',
  'eventType',
  'hash',
  'series',
  'attempts',
  'acceptedAt',
  'waitedSince',
  'traceparent',
  'lastFailure',
  'reason',
  'diedAt',
]);

const Attempts = AttemptFacts.omit({ answer: true, answerHeaders: true }).array();

/**
 * The data of a job that the board shows: ids, counts, reasons. The envelope, and answers that may repeat it, are not needed there;
 * `GET /dead-letters/{id}` shows both to those who may read them.
 */
export function shownData(data: unknown): unknown {
  if (typeof data !== 'object' || data === null) return undefined;
  const { body, tries, ...facts } = data as Record<string, unknown>;
  return {
    ...Object.fromEntries(Object.entries(facts).filter(([name]) => SHOWN.has(name))),
    ...(tries === undefined ? {} : { tries: Attempts.safeParse(tries).data }),
    ...(body === undefined
      ? {}
      : { body: `${Buffer.byteLength(typeof body === 'string' ? body : '')} bytes, not shown here` }),
  };
}
