import type { ReplayPart } from './replay-parts.adapter.js';

/** A replay and its progress. Times in epoch milliseconds. */
export interface ReplayStatus {
  readonly id: string;
  readonly webhookId: string;
  readonly partnerId: string;
  readonly eventType: string;
  /** `failed`: dead letters only. */
  readonly status: 'all' | 'failed';
  /** The envelopes were accepted in `[since, until)`; undefined is open. */
  readonly since: number | undefined;
  readonly until: number | undefined;
  readonly orderedBy: 'partner' | 'operator';
  readonly createdAt: number;
  readonly endedAt: number | undefined;
  readonly state: 'running' | 'paused' | 'done' | 'cancelled';
  /** Its deliveries; a running replay counts records that are not looked at yet. */
  readonly matched: number;
  /** Delivered at once. */
  readonly done: number;
  /** Queued for a retry, or dead letters. */
  readonly failed: number;
  readonly ratePerSecond: number;
  /** Undefined before the first record was looked at. */
  readonly secondsLeft: number | undefined;
}

type StoredReplay = Readonly<Record<string, string>>;
/** How far a replay came. */
interface Progress {
  /** Parts of the replay, by partition and shard. */
  readonly parts: readonly ReplayPart[];
  /** How many share the records of a partition. */
  readonly shards: number;
  /** When its last range ended, by Redis' clock. */
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
  // Each of several shards has a share of the records, and all offsets to pass: an estimate until they have passed them.
  const left = Math.ceil(sum(parts, ({ ranges }) => sum(ranges, ({ from, to = from }) => to - from)) / shards);
  const createdAt = Number(stored['createdAt']);
  const ordered = Number(stored['matched']);
  const ended = timeOf(cancelledAt ?? endedAt);
  const seconds = Math.max(0.001, ((ended ?? now) - createdAt) / 1000);
  // Records looked at a second; some of them are not delivered.
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

/** Running and paused replays by state, and the deliveries of all by result. */
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

/** A time of a replay as answers show it; `null` where it is open. */
const shownTime = (time: number | undefined): string | null =>
  time === undefined ? null : new Date(time).toISOString();
/** A rate, or a number of seconds, to a tenth. */
const rounded = (value: number): number => Math.round(value * 10) / 10;

/** A replay as answers show it: times in ISO 8601, rates to a tenth. */
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
