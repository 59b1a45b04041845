import { z } from 'zod';

export const AttemptTiming = z
  .object({
    reused: z.boolean().describe('Whether the connection had carried an earlier attempt.'),
    waitMs: z.int().optional().describe('The wait for a free connection.'),
    dnsMs: z.int().optional().describe('Resolving the name.'),
    connectMs: z.int().optional().describe('Connecting by TCP, or through the egress proxy.'),
    tlsMs: z.int().optional().describe('The TLS handshake.'),
    firstByteMs: z.int().optional().describe('From the request to the first byte of the answer.'),
  })
  .meta({
    id: 'AttemptTiming',
    description:
      'What the time of an attempt that failed, or lasted a second, went into. A step without a time was not taken, or did not end.',
  });
export type AttemptTiming = z.infer<typeof AttemptTiming>;

export const AnswerHeaders = z
  .record(z.string(), z.string())
  .describe(
    'Chosen header fields of that answer, such as `retry-after`, by their names in lower case: at most 256 characters each and 1,024 together, without secrets.',
  );

/** The facts of an attempt as they are stored in a waiting job, in a dead letter and in the history. */
export const AttemptFacts = z.object({
  /** Epoch milliseconds at which the attempt began. */
  at: z.number(),
  durationMs: z.number(),
  status: z.number().optional(),
  error: z.string().optional(),
  detail: z.string().optional(),
  /** Text of the endpoint's response to a failed attempt, without secrets. More of it is kept for the last attempt. */
  answer: z.string().optional(),
  /** Kept only for the last attempt. */
  answerHeaders: AnswerHeaders.optional(),
  /** Kept only for the last attempt. */
  timing: AttemptTiming.optional(),
  /** Epoch milliseconds before which the endpoint asked for no attempt. Kept only for the last attempt. */
  notBefore: z.number().optional(),
});
export type AttemptFacts = z.infer<typeof AttemptFacts>;

export const ShownAttempt = AttemptFacts.extend({
  at: z.iso.datetime().describe('When it began.'),
  durationMs: z.int(),
  status: z.int().optional().describe('HTTP status of the endpoint, if it answered.'),
  error: z.string().optional().describe('Kind of failure, if it did not.'),
  detail: z.string().optional().describe('What went wrong, in words.'),
  answer: z
    .string()
    .optional()
    .describe(
      'What the endpoint answered, if it failed with a text, without the credential and secrets of the webhook: at most 1,024 characters of the last attempt, 256 of earlier ones. Some operators keep none.',
    ),
  notBefore: z.iso
    .datetime()
    .optional()
    .describe('Of the last attempt: the endpoint asked for no attempt before this time (`Retry-After`).'),
}).meta({ id: 'Attempt', description: 'A call of the endpoint.' });
export type ShownAttempt = z.infer<typeof ShownAttempt>;

/** Returns an attempt without the endpoint's response, because the response may repeat what was sent. */
export const withoutAnswer = <T extends Partial<Pick<AttemptFacts, 'answer' | 'answerHeaders'>>>({
  answer: _answer,
  answerHeaders: _headers,
  ...facts
}: T): Omit<T, 'answer' | 'answerHeaders'> => facts;

export const shownAttempt = ({ at, notBefore, ...facts }: AttemptFacts): ShownAttempt => ({
  at: new Date(at).toISOString(),
  ...facts,
  ...(notBefore === undefined ? {} : { notBefore: new Date(notBefore).toISOString() }),
});

/** Maximum difference in ms between `notBefore` and the time at which the stored job is due, from clocks and rounding. */
const DUE_MS = 1_000;

/**
 * Whether a delivery that is due at `dueAt` waits because its endpoint asked for a pause, and not because of the schedule.
 */
export const isAskedToWait = (tries: readonly AttemptFacts[], dueAt: number): boolean =>
  dueAt < (tries.at(-1)?.notBefore ?? 0) + DUE_MS;

/** One record of `relay.delivery-attempts`: an attempt, or the end of a delivery without an attempt. */
export const AttemptRecord = z
  .object({
    deliveryId: z.string().describe('One envelope on its way to one webhook.'),
    envelopeId: z.string(),
    webhookId: z.string(),
    eventType: z.string(),
    at: z.string().describe('Beginning of the attempt, RFC 3339.'),
    outcome: z.enum(['delivered', 'retry', 'dead-letter', 'cancelled']),
    final: z.boolean().describe('Whether no further attempt will follow.'),
    partnerId: z.string().optional(),
    attempt: z.number().optional().describe('1 for the first of its series; none when it ended without an attempt.'),
    durationMs: z.number().optional(),
    status: z.number().optional().describe('HTTP status of the endpoint, if it answered.'),
    error: z.string().optional().describe('Kind of failure, if it did not.'),
    detail: z.string().optional().describe('What went wrong, in words.'),
    answer: z
      .string()
      .optional()
      .describe(
        'What the endpoint answered with a text: at most 1,024 characters, without secrets. Of a failed attempt, and now and then of a delivered one.',
      ),
    answerHeaders: AnswerHeaders.optional(),
    timing: AttemptTiming.optional(),
    reason: z.string().optional().describe('Why it is given up or cancelled.'),
    nextAt: z.string().optional().describe('When it is repeated, RFC 3339.'),
  })
  .meta({ id: 'AttemptRecord', description: 'An attempt at an endpoint, or the end of a delivery without one.' });
export type AttemptRecord = z.infer<typeof AttemptRecord>;

/** Filter for the HTTP status of an attempt: a single status such as 503, or a class such as 5xx. */
export const StatusFilter = z
  .string()
  .regex(/^[1-5](?:xx|\d\d)$/, 'a status such as 503, or a class such as 5xx, is expected');
