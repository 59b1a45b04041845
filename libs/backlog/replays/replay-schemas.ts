import { z } from 'zod';

const moment = z.iso.datetime({ offset: true });

/** Strict: if an unknown member were ignored, a misspelt order would become a different order. */
export const ReplayRequest = z
  .strictObject({
    since: moment
      .optional()
      .describe(
        'Envelopes that Kafka wrote at this time or later, by its clock: up to 10 s after their `acceptedAt`. By default all in the log.',
      ),
    until: moment.optional().describe('Envelopes that Kafka wrote before this time; by default until now.'),
    status: z
      .enum(['all', 'failed'])
      .default('all')
      .describe(
        '`all`: all envelopes, whatever their first outcome; `failed`: those with dead letters, which the replay removes.',
      ),
    dryRun: z.boolean().default(false).describe('Only count what would be delivered.'),
  })
  .refine(({ since, until }) => since === undefined || until === undefined || Date.parse(since) < Date.parse(until), {
    path: ['until'],
    message: 'must be later than since',
  })
  .meta({ id: 'ReplayRequest', description: 'Which envelopes are to be delivered again. No member is required.' });
export type ReplayRequest = z.infer<typeof ReplayRequest>;

/** The last replay of a page, and when it was ordered. */
export const ReplayCursor = z
  .string()
  .regex(/^\d{1,15}\.[\w-]{1,36}$/, 'a cursor comes from the Link header of the page before')
  .optional()
  .describe('Where the page begins; out of the Link header of the page before.');

export const ReplayId = z.guid().toLowerCase().describe('Identifier of the replay.');

export const ReplayAnswer = z
  .object({
    id: z.guid().nullable().describe('`null` after a dry run: nothing was ordered.'),
    webhookId: z.guid(),
    status: z.enum(['all', 'failed']),
    since: z.iso.datetime().nullable(),
    until: z.iso.datetime().nullable(),
    state: z.enum(['dry-run', 'running', 'paused', 'done', 'cancelled']).describe('`paused`: by an operator.'),
    matched: z
      .int()
      .describe(
        'Deliveries of the replay; while it runs, records not looked at yet count as deliveries. After a dry run an upper bound.',
      ),
    done: z.int().describe('Delivered; with `status: failed` on its way again.'),
    failed: z
      .int()
      .describe(
        'Not delivered at once: repeated by the retry schedule, or dead letters; with `status: failed` still dead.',
      ),
    ratePerSecond: z.number().describe('Since it was ordered.'),
    secondsLeft: z.number().nullable().describe('At that rate; `null` while there is none.'),
    createdAt: z.iso.datetime(),
    endedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Replay', description: 'Deliveries made again, and how far that is.' });
export type ReplayAnswer = z.infer<typeof ReplayAnswer>;

export const REPLAY_EXAMPLE = {
  id: 'b8d1a0c2-4f5e-4a6b-9c7d-8e9f0a1b2c3d',
  webhookId: '3f2b1c0d-9e8f-4a7b-8c6d-5e4f3a2b1c0d',
  status: 'all',
  since: '2030-01-01T00:00:00.000Z',
  until: null,
  state: 'running',
  matched: 12_000,
  done: 4_210,
  failed: 3,
  ratePerSecond: 390.5,
  secondsLeft: 19.9,
  createdAt: '2030-01-02T08:00:00.000Z',
  endedAt: null,
} satisfies ReplayAnswer;
