import type { Shard, Shards } from '@relay/redis';
import type { ChainableCommander } from 'ioredis';
import { DEAD_LETTERS_QUEUE, DELIVERIES_QUEUE, DUE_FIELD, dueTimeOf } from './queues.adapter.js';

const QUEUES = [DELIVERIES_QUEUE, DEAD_LETTERS_QUEUE] as const;
const JOB_STATES = ['waiting', 'active', 'delayed', 'failed'] as const;
type JobState = (typeof JOB_STATES)[number];

export interface QueueState {
  readonly queue: string;
  readonly state: JobState;
  readonly jobs: number;
  /**
   * Age in seconds; undefined if there are no jobs.
   * - `waiting` and `delayed`: time since the next job was due, 0 if it is not due yet
   * - `active`: time since the oldest running attempt began
   * - `failed`: time since the oldest job was created
   */
  readonly oldestS?: number;
}

/**
 * The keys of BullMQ 6 by state. When a worker asks for a job, BullMQ moves every due job that has no priority from
 * `delayed` to `wait`, even while the queue is paused. The relay sets no priorities.
 */
const KEPT = {
  waiting: { key: 'wait', sorted: false },
  active: { key: 'active', sorted: false },
  delayed: { key: 'delayed', sorted: true },
  failed: { key: 'failed', sorted: true },
} as const satisfies Record<JobState, unknown>;

const FIELDS = ['timestamp', 'opts', DUE_FIELD, 'processedOn'] as const;
type Fields = readonly (string | null)[];

const PLACES = QUEUES.flatMap((queue) => JOB_STATES.map((state) => ({ queue, state })));

/**
 * Returns the state of both queues, with two round trips to each shard and without reading the data of any job.
 * @param now epoch milliseconds
 */
export async function readQueues(shards: Shards, now: number): Promise<QueueState[]> {
  const all = await Promise.all(shards.all.map((shard) => queuesOf(shard, now)));
  return PLACES.map(({ queue, state }, index) => {
    const found = all.flatMap((states) => states[index] ?? []);
    const ages = found.flatMap(({ oldestS }) => oldestS ?? []);
    const jobs = found.reduce((sum, each) => sum + each.jobs, 0);
    return { queue, state, jobs, ...(ages.length === 0 ? {} : { oldestS: Math.max(...ages) }) };
  });
}

async function queuesOf(shard: Shard, now: number): Promise<QueueState[]> {
  const counts = shard.redis.pipeline();
  for (const { queue, state } of PLACES) {
    const key = shard.key(queue, KEPT[state].key);
    if (KEPT[state].sorted) counts.zcard(key).zrange(key, '0', '0', 'WITHSCORES');
    else counts.llen(key).lrange(key, -1, -1);
  }
  const ends = await repliesOf(counts);
  const oldest = PLACES.map((_, index) => ends[index * 2 + 1] as readonly string[]);
  const ages = shard.redis.pipeline();
  for (const [index, { queue }] of PLACES.entries()) ages.hmget(shard.key(queue, oldest[index]?.[0] ?? ''), ...FIELDS);
  const jobs = (await repliesOf(ages)) as Fields[];
  return PLACES.map(({ queue, state }, index): QueueState => {
    const count = Number(ends[index * 2]);
    const [id, score] = oldest[index] ?? [];
    if (id === undefined) return { queue, state, jobs: count };
    const at =
      state === 'delayed' && score !== undefined ? dueTimeOf(score) : (sinceOf(state, jobs[index] ?? [], now) ?? now);
    return { queue, state, jobs: count, oldestS: Math.max(0, now - at) / 1_000 };
  });
}

/** Returns epoch milliseconds; undefined if the job ended between the two round trips. */
function sinceOf(state: JobState, [madeAt, options, dueAt, begunAt]: Fields, now: number): number | undefined {
  if (state === 'active') return begunAt == null ? undefined : Number(begunAt);
  if (madeAt == null) return undefined;
  if (state === 'failed') return Number(madeAt);
  const { delay = 0 } = JSON.parse(options ?? '{}') as { delay?: number };
  // BullMQ sets the delay of a due job to 0, so its due time is the latest known time that is not in the future. A job that
  // waits again without having been put back was due before it began. A time in the future belongs to a job that was made
  // due early. It is left out because it would otherwise hide the age of the jobs that wait behind this one.
  const times = [Number(madeAt) + delay, Number(dueAt ?? 0), Number(begunAt ?? 0)];
  return Math.max(Number(madeAt), ...times.filter((at) => at <= now));
}

/** Counts the waiting, delayed and active jobs of `deliveries` in one shard, in one round trip. */
export const countDeliveries = (shard: Shard): Promise<number> =>
  countJobs(shard, DELIVERIES_QUEUE, ['waiting', 'active', 'delayed']);

/** Counts the jobs of a queue in one shard, in one round trip. */
export async function countJobs(
  shard: Shard,
  queue: (typeof QUEUES)[number],
  states: readonly JobState[] = JOB_STATES,
): Promise<number> {
  const counts = shard.redis.pipeline();
  for (const state of states) {
    const key = shard.key(queue, KEPT[state].key);
    if (KEPT[state].sorted) counts.zcard(key);
    else counts.llen(key);
  }
  return (await repliesOf(counts)).reduce<number>((sum, count) => sum + Number(count), 0);
}

/** Runs a pipeline and returns its replies. Rejects with the first error among them. */
export async function repliesOf(pipeline: ChainableCommander): Promise<unknown[]> {
  const replies = (await pipeline.exec()) ?? [];
  return replies.map(([error, value]) => {
    if (error) throw error;
    return value;
  });
}
