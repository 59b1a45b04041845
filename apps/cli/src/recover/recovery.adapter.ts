import { lossOf, TOKEN } from '@relay/doctor';
import { randomUUID } from 'node:crypto';
import { RejectedRecords } from '@relay/dead-letters';
import { clientKeys } from '@relay/identity';
import { logRecordOf, readAttempt } from '@relay/kafka';
import { recoveryKey, type RedisPartitionProgress } from '@relay/progress';
import { oneShard, onlyShard } from '@relay/redis';
import { BullmqRetryQueue } from '@relay/retry';
import { ThrottledLog, type Log } from '@relay/telemetry';
import { webhookKeys, type RedisWebhookView } from '@relay/webhooks';
import type { Stores } from '../registry.adapter.js';
import type { Progress } from '../shown-progress.js';
import { recoverLetters } from './letter-recovery.js';
import { Outcomes } from './outcomes.js';
import { PartitionRecovery } from './partition-recovery.js';
import { openRecoveryLog, type EventRange, type RecoveryLog } from './recovery-log.adapter.js';
import { readLetter, LoggedDeadLetters } from './logged-dead-letters.js';

/** Records settled in one round trip, as in a worker. */
const CHUNK = 200;

export interface RecoveryReport {
  /** Clients and webhooks in Redis. */
  readonly registrations: number;
  readonly deadLetters: number;
  /** Records read from the event topics. */
  readonly records: number;
  /** Deliveries that became jobs. */
  readonly deliveries: number;
  readonly alreadyFinal: number;
}

export interface RecoveryParts extends Stores {
  readonly view: RedisWebhookView;
  readonly progress: RedisPartitionProgress;
  /** `DEDUPE_WINDOW` in milliseconds. */
  readonly windowMs: number;
  readonly log: Log;
}

/**
 * Rebuilds an emptied Redis. Registrations are there already (`withRegistry`). While the recovery’s key exists, workers
 * treat every partition as lost. An interrupted recovery keeps its finished partitions, and the next run continues with
 * the others. May be killed at any moment.
 * @throws Error when Redis was not lost
 */
export async function recoverAll(parts: RecoveryParts, shown: Progress): Promise<RecoveryReport> {
  const { redis, kafka, settings, view, progress, publisher, log } = parts;
  const now = Date.now();
  const recoveryLog = await openRecoveryLog(kafka, settings, now);
  const { lost, isLost, isBegun } = await lossOf(recoveryLog.events, onlyShard(redis), progress);
  if (isBegun) shown.note(`An earlier recovery has begun; ${lost.length} partitions are left.`);
  // A worker that was stopped early may have committed none of the records it had read.
  const isEmpty = lost.length === recoveryLog.events.length && lost.some(({ end }) => end > 0);
  if (!isLost && !isEmpty)
    throw new Error('Redis knows how far the log was read: nothing was lost, and there is nothing to recover');
  const token = `${TOKEN}${randomUUID()}`;
  await redis.set(recoveryKey(onlyShard(redis)), token);
  await view.reload();
  const queue = new BullmqRetryQueue(oneShard(redis));
  try {
    const logged = await readLogged(recoveryLog, shown);
    shown.begin('restoring dead letters', total(recoveryLog.deadLetters));
    const letters = await recoverLetters(recoveryLog, logged, queue, view, now, (records) => shown.done(records));
    const counts = { records: 0, deliveries: 0, alreadyFinal: 0 };
    const throttled = new ThrottledLog(log);
    const tools = {
      token,
      topicPrefix: settings.KAFKA_TOPIC_PREFIX,
      progress,
      queue,
      rejectedRecords: new RejectedRecords(publisher, queue, throttled),
      logged,
      matching: (type: string, audience: readonly string[]) => view.matching(type, audience),
      now: () => now,
      windowMs: parts.windowMs,
    };
    await recoverPartitions(recoveryLog, lost, (range) => new PartitionRecovery(range, tools, counts), shown);
    const registrations = await registrationsOf(parts);
    await finish(parts, token);
    const { deadLetters } = letters;
    return { registrations, deadLetters, ...counts, deliveries: counts.deliveries + letters.deliveries };
  } finally {
    await queue.close();
  }
}

async function readLogged(
  log: RecoveryLog,
  shown: Progress,
): Promise<{ outcomes: Outcomes; letters: LoggedDeadLetters }> {
  const logged = { outcomes: new Outcomes(), letters: new LoggedDeadLetters() };
  shown.begin('reading dead letters', total(log.deadLetters));
  await log.read(log.deadLetters, (_range, messages) => {
    for (const { value } of messages) {
      const letter = readLetter(value);
      if (letter !== undefined) logged.letters.take(letter);
    }
    shown.done(messages.length);
  });
  shown.begin('reading attempts', total(log.attempts));
  await log.read(log.attempts, (_range, messages) => {
    for (const { value } of messages) {
      const attempt = value === null ? undefined : readAttempt(value);
      if (attempt !== undefined) logged.outcomes.take(attempt);
    }
    shown.done(messages.length);
  });
  return logged;
}

async function recoverPartitions(
  log: RecoveryLog,
  lost: readonly EventRange[],
  recoveryOf: (range: EventRange) => PartitionRecovery,
  shown: Progress,
): Promise<void> {
  const recoveries = new Map<string, PartitionRecovery>();
  const ranges: EventRange[] = [];
  for (const range of lost) {
    const recovery = recoveryOf(range);
    const from = await recovery.begin(range.from);
    recoveries.set(`${range.topic}/${range.partition}`, recovery);
    ranges.push({ ...range, from: Math.min(from, range.end) });
  }
  shown.begin('reading envelopes', total(ranges));
  await log.read(ranges, async ({ topic, partition }, messages) => {
    const recovery = recoveries.get(`${topic}/${partition}`);
    for (let at = 0; at < messages.length; at += CHUNK) {
      const chunk = messages.slice(at, at + CHUNK);
      await recovery?.take(chunk.map(logRecordOf));
      shown.done(chunk.length);
    }
  });
  for (const { topic, partition, end } of ranges) await recoveries.get(`${topic}/${partition}`)?.finish(end);
}

/** Workers ask every few seconds and continue by themselves from here. */
async function finish({ redis }: RecoveryParts, token: string): Promise<void> {
  const key = recoveryKey(onlyShard(redis));
  if ((await redis.get(key)) === token) await redis.del(key);
}

const registrationsOf = async ({ redis }: RecoveryParts): Promise<number> =>
  (await redis.hlen(clientKeys[0])) + (await redis.hlen(webhookKeys[0]));

const total = (ranges: readonly { from: number; end: number }[]): number =>
  ranges.reduce((sum, { from, end }) => sum + end - from, 0);
