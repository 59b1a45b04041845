import { StoredDeadLetter } from '@relay/dead-letters';
import { parseDeliveryId } from '@relay/delivery';
import { bullOptions, DEAD_LETTERS_QUEUE, DELIVERIES_QUEUE, dueTime, StoredJob as JobData } from '@relay/jobs';
import type { Shard, Shards } from '@relay/redis';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { StoredJob } from './envelope-report.js';

const QUEUES = [DELIVERIES_QUEUE, DEAD_LETTERS_QUEUE] as const;
/** Keys of one SCAN step, which takes Redis a few milliseconds. */
const STEP = 5_000;

/**
 * Every job of an envelope in both queues, over all webhooks, contents and series. Jobs are found by their keys, since
 * nothing else holds the id of a job without an attempt.
 */
export async function jobsOfEnvelope(shards: Shards, envelopeId: string): Promise<StoredJob[]> {
  const shard = shards.of(envelopeId);
  const jobs: StoredJob[] = [];
  for (const queue of QUEUES) {
    const prefix = shard.key(queue, '');
    const ids = (await keysLike(shard.redis, `${prefix}*_${envelopeId}_*`)).map((key) => key.slice(prefix.length));
    const opened = new Queue(queue, bullOptions(shard));
    opened.on('error', () => undefined);
    for (const id of ids) {
      const job = parseDeliveryId(id) === undefined ? undefined : await storedJob(shard, opened, queue, id);
      if (job !== undefined) jobs.push(job);
    }
    await opened.close();
  }
  return jobs;
}

async function keysLike(redis: Redis, pattern: string): Promise<string[]> {
  const found = new Set<string>();
  let cursor = '0';
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', pattern, 'COUNT', STEP);
    for (const key of keys) found.add(key);
    cursor = next;
  } while (cursor !== '0');
  return [...found];
}

async function storedJob(
  shard: Shard,
  opened: Queue,
  queue: (typeof QUEUES)[number],
  id: string,
): Promise<StoredJob | undefined> {
  const job = await opened.getJob(id);
  if (job === undefined) return undefined;
  const state = await job.getState();
  if (state === 'completed') return undefined; // ended, and only kept so that it is not added once more
  const letter = StoredDeadLetter.safeParse(job.data).data;
  const data = letter ?? JobData.safeParse(job.data).data;
  const dueAt = state === 'delayed' ? await dueTime(shard, queue, id) : undefined;
  return {
    deliveryId: id,
    queue,
    isRunning: state === 'active',
    ...(dueAt === undefined ? {} : { dueAt }),
    ...(letter === undefined ? {} : { reason: letter.reason }),
    ...(data?.lastFailure === undefined ? {} : { lastFailure: data.lastFailure }),
    tries: data?.tries ?? [],
    ...(letter === undefined ? {} : { diedAt: letter.diedAt }),
  };
}
