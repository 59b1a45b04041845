import { AnswerHeaders, AttemptTiming, ENVELOPE_TYPES } from '@relay/events';
import type { SoughtEnvelope } from '@relay/kafka';
import { z } from 'zod';

const moment = z.iso.datetime();
const text = z.string().nullable();

export const INCOMPLETE_PARTS = ['kafka', 'redis', 'index'] as const;
export type IncompletePart = (typeof INCOMPLETE_PARTS)[number];

const StoryAttempt = z
  .object({
    at: moment.describe('When it began; of an end without an attempt, when it ended.'),
    attempt: z.int().nullable().describe('1 for the first of its series; `null` for an end without an attempt.'),
    durationMs: z.number().nullable(),
    status: z.int().nullable().describe('HTTP status of the endpoint, if it answered.'),
    error: text.describe('Kind of failure, if it did not.'),
    detail: text.describe('What went wrong, in words.'),
    answer: text.describe(
      'What the endpoint answered with a text, without secrets: to a failed attempt, and now and then to another.',
    ),
    answerHeaders: AnswerHeaders.nullable(),
    timing: AttemptTiming.nullable(),
    outcome: z
      .enum(['delivered', 'retry', 'dead-letter', 'cancelled'])
      .nullable()
      .describe('`null` if it is not known.'),
    reason: text.describe('Why the delivery was given up or cancelled.'),
    nextAt: moment.nullable().describe('When it was to be repeated.'),
  })
  .meta({ id: 'StoryAttempt', description: 'An attempt at an endpoint, or the end of a delivery without one.' });
export type StoryAttempt = z.infer<typeof StoryAttempt>;

export const StoryDelivery = z
  .object({
    id: z.string().describe('Id of the delivery; its dead letter has the same.'),
    webhookId: z.guid().nullable().describe('`null` for the dead letter of the envelope as a whole.'),
    partnerId: text,
    host: text.describe('Host of the endpoint, where it is known.'),
    series: z.int().describe('0 for the first delivery; greater for a replay.'),
    replayId: text.describe('The replay by time that it belongs to.'),
    acceptedAt: moment,
    state: z
      .enum([
        'delivered',
        'waiting',
        'parked',
        'replaying',
        'dead-letter',
        'replayed',
        'purged',
        'cancelled',
        'pending',
      ])
      .describe(
        '`waiting`: its job is in the queue; `parked`: it waits in the log; `replaying`: a replay by time has not come to it; `replayed`, `purged`: it was a dead letter; `pending`: an attempt failed and its job is not stored yet, or what came of it is not known.',
      ),
    waitsFor: z
      .enum(['schedule', 'retry-after', 'breaker', 'room', 'disabled', 'parked', 'replay'])
      .nullable()
      .describe(
        '`schedule`: the wait before the next attempt; `retry-after`: its endpoint asked for a later attempt, of this delivery or of its webhook; `breaker`: the breaker of its webhook or endpoint is open; `room`: it has not been attempted, since its endpoint had no room; `disabled`, `parked`: the state of its webhook; `replay`: a replay by time will come to it.',
      ),
    nextAttemptAt: moment.nullable().describe('Of a waiting delivery; `null` if it is due now or runs.'),
    reason: text.describe('Why it was given up or cancelled.'),
    lastFailure: text.describe('Outcome of the last attempt, in words.'),
    attempts: z.array(StoryAttempt).describe('Oldest first.'),
  })
  .meta({ id: 'StoryDelivery', description: 'One series of attempts at one webhook.' });
export type StoryDelivery = z.infer<typeof StoryDelivery>;

export const EnvelopeStory = z
  .object({
    id: z.guid(),
    eventType: text,
    acceptedAt: moment.nullable(),
    source: text.describe(
      'Client id of the source that sent it; `null` for a foreign producer, or when it is not known.',
    ),
    record: z
      .object({ topic: z.string(), partition: z.int(), offset: z.int(), at: moment.describe('When Kafka stored it.') })
      .nullable()
      .describe('Where it stands in Kafka; `null` when the log no longer has it.'),
    mark: z
      .enum(['published', 'settled'])
      .nullable()
      .describe(
        '`published`: it is in Kafka, no worker has settled it yet; `settled`: each delivery has ended or is stored.',
      ),
    repeats: z
      .object({
        duplicates: z.int().describe('How often it came again with the same content, and was dropped.'),
        conflicts: z.int().describe('How often other content came with its id, and was refused.'),
      })
      .nullable()
      .describe('Of the last 8 days, as far as they were counted; `null` while Redis is away.'),
    deliveries: z.array(StoryDelivery).describe('By webhook, and each in order.'),
    incomplete: z.array(z.enum(INCOMPLETE_PARTS)).describe('The parts that are away: what they know is missing.'),
  })
  .meta({ id: 'EnvelopeStory', description: 'What became of an envelope.' });
export type EnvelopeStory = z.infer<typeof EnvelopeStory>;

/** The story for those who may not read envelopes: an answer may repeat what was sent. */
export const withoutAnswers = (story: EnvelopeStory): EnvelopeStory => ({
  ...story,
  deliveries: story.deliveries.map((delivery) => ({
    ...delivery,
    attempts: delivery.attempts.map((attempt) => ({ ...attempt, answer: null, answerHeaders: null })),
  })),
});

/** The caller's clue to an envelope: its type, and about when it was accepted, to within a minute. */
export type EnvelopeClue = Omit<SoughtEnvelope, 'envelopeId'>;

/** Clue to an envelope that was never attempted: neither the index nor a queue knows when it was accepted. */
export const ClueQuery = z
  .strictObject({
    type: z.enum(ENVELOPE_TYPES).optional().describe('Its event type.'),
    around: z.iso.datetime({ offset: true }).optional().describe('About when it was accepted, to within a minute.'),
  })
  .refine(({ type, around }) => (type === undefined) === (around === undefined), 'type and around go together');

export const clueOf = ({ type, around }: z.infer<typeof ClueQuery>): EnvelopeClue | undefined =>
  type === undefined || around === undefined ? undefined : { eventType: type, acceptedAt: Date.parse(around) };
