import { z } from 'zod';
import type { ReplayPart } from './replay-parts.adapter.js';

/** A replay and its progress. All times are epoch milliseconds. */
export interface ReplayStatus {
  readonly id: string;
  readonly webhookId: string;
  readonly partnerId: string;
  readonly eventType: string;
  /** `failed` replays only dead letters. */
  readonly status: 'all' | 'failed';
  /**
   * Only envelopes that were accepted at `since` or later and before `until` are replayed. Undefined means that there is no
   * limit.
   */
  readonly since: number | undefined;
  readonly until: number | undefined;
  readonly orderedBy: 'partner' | 'operator';
  readonly createdAt: number;
  readonly endedAt: number | undefined;
  readonly state: 'running' | 'paused' | 'done' | 'cancelled';
  /** Number of deliveries. While the replay is running, records that were not read yet count as deliveries. */
  readonly matched: number;
  /**
   * Number of deliveries whose first attempt succeeded. With `status: failed`, the number of dead letters that were queued
   * again.
   */
  readonly done: number;
  /**
   * Number of deliveries that are queued for a retry or became dead letters. With `status: failed`, the number of dead
   * letters that could not be queued again.
   */
  readonly failed: number;
  readonly ratePerSecond: number;
  /** Undefined until the first record was read. */
  readonly secondsLeft: number | undefined;
}

type StoredReplay = Readonly<Record<string, string>>;
/** Progress of a replay. */
interface Progress {
  /** Parts of the replay, by partition and shard. */
  readonly parts: readonly ReplayPart[];
  /** Number of shards that share the records of a partition. */
  readonly shards: number;
  /** When the last range ended, in epoch milliseconds by the clock of Redis. */
  readonly endedAt: string | undefined;
  readonly isPaused: boolean;
}

export function replayStatus(
  stored: StoredReplay,
  { parts, shards, endedAt, isPaused }: Progress,
  now: number,
): ReplayStatus {
  const { id = '', webhookId = '', partnerId = '', eventType = '', cancelledAt } = stored;
  const done = sum(parts, ({ counts }) => counts.done);
  const failed = sum(parts, ({ counts }) => counts.failed);
  // Every shard reads all offsets of a partition but handles only its share of the records. Until all shards have read the
  // same offsets, this division is an estimate.
  const left = Math.ceil(sum(parts, ({ ranges }) => sum(ranges, ({ from, to = from }) => to - from)) / shards);
  const createdAt = Number(stored['createdAt']);
  const ordered = Number(stored['matched']);
  const ended = timeOf(cancelledAt ?? endedAt);
  const seconds = Math.max(0.001, ((ended ?? now) - createdAt) / 1000);
  // Records read per second. Some of them are not delivered.
  const lookedAt = (ordered - left) / seconds;
  return {
    id,
    webhookId,
    partnerId,
    eventType,
    status: stored['status'] === 'failed' ? 'failed' : 'all',
    since: timeOf(stored['since']),
    until: timeOf(stored['until']),
    orderedBy: stored['orderedBy'] === 'operator' ? 'operator' : 'partner',
    createdAt,
    endedAt: ended,
    state: cancelledAt !== undefined ? 'cancelled' : ended !== undefined ? 'done' : isPaused ? 'paused' : 'running',
    matched: cancelledAt === undefined ? Math.max(done + failed, Math.min(done + failed + left, ordered)) : ordered,
    done,
    failed,
    ratePerSecond: (done + failed) / seconds,
    secondsLeft: ended !== undefined ? 0 : lookedAt > 0 ? left / lookedAt : undefined,
  };
}

const sum = <T>(items: readonly T[], of: (item: T) => number): number =>
  items.reduce((total, item) => total + of(item), 0);

const timeOf = (text: string | undefined): number | undefined =>
  text === undefined || text === '' ? undefined : Number(text);

/** Counts the running and the paused replays, and the deliveries of all given replays by result. */
export function replayTotals(all: readonly ReplayStatus[]) {
  const replays = { running: 0, paused: 0 };
  const deliveries = { done: 0, failed: 0, left: 0 };
  for (const { state, matched, done, failed } of all) {
    deliveries.done += done;
    deliveries.failed += failed;
    if (state !== 'running' && state !== 'paused') continue;
    replays[state] += 1;
    deliveries.left += matched - done - failed;
  }
  return { replays, deliveries };
}

export type ReplayTotals = ReturnType<typeof replayTotals>;

/** Formats a time for a response; `null` if there is no limit. */
const shownTime = (time: number | undefined): string | null =>
  time === undefined ? null : new Date(time).toISOString();
/** Rounds a rate or a number of seconds to one decimal place. */
const rounded = (value: number): number => Math.round(value * 10) / 10;

/** A replay as responses show it, with times in ISO 8601 and rates with one decimal place. */
export const replayFacts = (replay: ReplayStatus) => ({
  id: replay.id,
  webhookId: replay.webhookId,
  status: replay.status,
  since: shownTime(replay.since),
  until: shownTime(replay.until),
  state: replay.state,
  matched: replay.matched,
  done: replay.done,
  failed: replay.failed,
  ratePerSecond: rounded(replay.ratePerSecond),
  secondsLeft: replay.secondsLeft === undefined ? null : rounded(replay.secondsLeft),
  createdAt: new Date(replay.createdAt).toISOString(),
  endedAt: shownTime(replay.endedAt),
});

const moment = z.iso.datetime({ offset: true });

/** Unknown members are refused. Otherwise a misspelt member would be ignored, and the replay would cover other envelopes. */
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

/** Cursor with the creation time and the id of the last replay on the previous page. */
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
