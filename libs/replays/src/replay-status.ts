import type { ParkedRange, ReplayCounts } from '@relay/progress';

/** How far a replay is. Times in epoch milliseconds. */
export interface ReplayStatus {
  readonly id: string;
  readonly webhookId: string;
  readonly partnerId: string;
  readonly eventType: string;
  /** `failed`: only what is a dead letter. */
  readonly status: 'all' | 'failed';
  /** Bounds of the time in which the envelopes were accepted; undefined is open. */
  readonly since: number | undefined;
  readonly until: number | undefined;
  /** Undefined of one that was stored before this was. */
  readonly orderedBy: 'partner' | 'operator' | undefined;
  readonly createdAt: number;
  readonly endedAt: number | undefined;
  readonly state: 'running' | 'paused' | 'done' | 'cancelled';
  /** Its deliveries; while it runs, records that are not looked at yet count as such. */
  readonly matched: number;
  /** Delivered at once. */
  readonly done: number;
  /** Left to the retry queue, or dead letters. */
  readonly failed: number;
  readonly ratePerSecond: number;
  /** Undefined where the rate tells nothing. */
  readonly secondsLeft: number | undefined;
}

const ORDERERS = ['partner', 'operator'] as const;
type Stored = Readonly<Record<string, string>>;
interface Partition {
  readonly ranges: readonly ParkedRange[];
  readonly counts: ReplayCounts;
}

/** @param endedAt when its last range was through, by Redis' clock */
export function replayStatus(
  stored: Stored,
  partitions: readonly Partition[],
  endedAt: string | undefined,
  isPaused: boolean,
  now: number,
): ReplayStatus {
  const { id = '', webhookId = '', partnerId = '', eventType = '', cancelledAt } = stored;
  const done = sum(partitions, ({ counts }) => counts.done);
  const failed = sum(partitions, ({ counts }) => counts.failed);
  const left = sum(partitions, ({ ranges }) => sum(ranges, ({ from, to = from }) => to - from));
  const createdAt = Number(stored['createdAt']);
  const ended = timeOf(cancelledAt ?? endedAt);
  const seconds = Math.max(0.001, ((ended ?? now) - createdAt) / 1000);
  // Of the records looked at: of some of them there is nothing to deliver.
  const lookedAt = (Number(stored['matched']) - left) / seconds;
  return {
    id,
    webhookId,
    partnerId,
    eventType,
    status: stored['status'] === 'failed' ? 'failed' : 'all',
    since: timeOf(stored['since']),
    until: timeOf(stored['until']),
    orderedBy: ORDERERS.find((orderer) => orderer === stored['orderedBy']),
    createdAt,
    endedAt: ended,
    state: cancelledAt !== undefined ? 'cancelled' : ended !== undefined ? 'done' : isPaused ? 'paused' : 'running',
    matched: cancelledAt === undefined ? done + failed + left : Number(stored['matched']),
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
