import { randomUUID } from 'node:crypto';
import { dedupeEnv } from '@relay/config';
import { DeadLetterReader, RejectedRecords } from '@relay/dead-letters';
import { TOKEN } from '@relay/doctor';
import { clientKeys } from '@relay/identity';
import { type LogRange, logRecordOf, readAttempt } from '@relay/kafka';
import { recoveryKey } from '@relay/progress';
import { StoreClock } from '@relay/redis';
import { BullmqRetryQueue } from '@relay/retry';
import { ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView, webhookKeys } from '@relay/webhooks';
import type { Command } from 'commander';
import type { Redis } from 'ioredis';
import { answer, counted, documented, settingsOf, type Shell } from '../shell.js';
import { type Progress, shownProgress } from '../shown-progress.js';
import { type CurrentStores, keyringOf, logOf, withRegistry } from '../stores.adapter.js';
import {
  endLetters,
  LoggedDeadLetters,
  type LoggedDeliveries,
  Outcomes,
  readLetter,
  recoverLetters,
} from './logged-deliveries.js';
import { PartitionRecovery } from './partition-recovery.js';
import {
  type EventRange,
  type LostShard,
  lostShards,
  openRecoveryLog,
  type RecoveryLog,
} from './recovery-log.adapter.js';

export function defineRecover(command: Command, shell: Shell): void {
  command.action(async (options: { json?: boolean }) => {
    const startedAt = performance.now();
    const json = options.json === true;
    const shown = shownProgress(shell, json);
    const keyring = keyringOf(shell);
    const { DEDUPE_WINDOW } = settingsOf(shell, dedupeEnv);
    // Log messages, for example about rejected records, are printed as notes. With --json they are dropped.
    const say = (_event: string, message: string): void => (json ? undefined : shell.note(message));
    try {
      const found = await withRegistry(shell, (stores) => {
        const view = new RedisWebhookView(stores.redis, stores.registry.of('webhook'), keyring);
        return recoverAll({ ...stores, view, windowMs: DEDUPE_WINDOW, log: { ...logOf(say), warn: say } }, shown);
      });
      const report = { ...found, seconds: Math.round((performance.now() - startedAt) / 100) / 10 };
      shown.end();
      answer(shell, options, report, textOf(report));
    } finally {
      shown.end();
    }
  });
  documented(command, 'recover');
}

const textOf = (report: RecoveryReport & { seconds: number }): string =>
  [
    `${counted(report.registrations, 'registration')} in Redis`,
    `${counted(report.deadLetters, 'dead letter')} put back, ${report.endedLetters} ended`,
    `${counted(report.records, 'record')} read: ${counted(report.deliveries, 'delivery', 'deliveries')} to make, ${report.alreadyFinal} already ended`,
    `${report.seconds} s. The workers continue by themselves within seconds.`,
  ].join('\n');

const CHUNK = 200;

type RecoveryReport = Awaited<ReturnType<typeof endAll>>;

interface RecoveryParts extends CurrentStores {
  readonly view: RedisWebhookView;
  /** `DEDUPE_WINDOW` in milliseconds. */
  readonly windowMs: number;
}

/**
 * Rebuilds an emptied Redis, or only the shards that are empty. The webhooks and clients are there already, because
 * `withRegistry` restores them. While a shard contains the key of the recovery, workers treat all its partitions as lost. An
 * interrupted recovery keeps its finished partitions, and the next run continues with the others. May be killed at any
 * moment.
 *
 * If no shard is empty, Redis may have been restored from an older copy. Then this only removes the dead letters that an
 * operator has ended since that copy.
 * @throws Error if there is nothing to do, a clock is wrong, or the registry does not belong to the event log
 */
async function recoverAll(parts: RecoveryParts, shown: Progress): Promise<RecoveryReport> {
  const { shards, kafka, settings, view, publisher, log, windowMs } = parts;
  await assertClock(parts.redis);
  const now = Date.now();
  const recoveryLog = await openRecoveryLog(kafka, settings, now);
  const lost = await lostShards(recoveryLog.events, shards, windowMs);
  if (lost.length === 0) return endAll(parts, recoveryLog, now, shown);
  const registrations = await registrationsOf(parts);
  if ((await parts.redis.hlen(clientKeys[0])) === 0)
    throw new Error(
      'The registry holds no client, so it is not the one by which envelopes were accepted: its topic was made again, or is another one. Put its records back first (docs/operations/recovery.md, "Kafka was lost")',
    );
  const left = lost.reduce((sum, shard) => sum + shard.lost.length, 0);
  if (lost.some(({ isBegun }) => isBegun)) shown.note(`An earlier recovery has begun; ${left} partitions are left.`);
  const token = `${TOKEN}${randomUUID()}`;
  for (const { shard } of lost) await shard.redis.set(recoveryKey(shard), token);
  const shardOf = (envelopeId: string): number => shards.all.indexOf(shards.of(envelopeId));
  const isLost = (envelopeId: string): boolean => lost.some(({ number }) => number === shardOf(envelopeId));
  await view.reload();
  const queue = new BullmqRetryQueue(shards);
  try {
    const logged = await readLogged(recoveryLog, isLost, shown);
    shown.begin('restoring dead letters', total(recoveryLog.deadLetters));
    const told = (records: number): void => shown.done(records);
    const letters = await recoverLetters(recoveryLog, logged, queue, view, { now, isLost }, told);
    const counts = { records: 0, deliveries: 0, alreadyFinal: 0 };
    const tools = {
      token,
      topicPrefix: settings.KAFKA_TOPIC_PREFIX,
      shardOf,
      queue,
      rejectedRecords: new RejectedRecords(publisher, queue, new ThrottledLog(log)),
      logged,
      matching: (type: string, audience: readonly string[]) => view.matching(type, audience),
      now: () => now,
      windowMs,
    };
    const recoveryOf = ({ number, progress }: LostShard, range: EventRange): PartitionRecovery =>
      new PartitionRecovery({ ...range, shard: number }, { ...tools, progress, topicId: range.topicId }, counts);
    await recoverPartitions(recoveryLog, lost, recoveryOf, shown);
    // The workers check this key every few seconds, so they continue by themselves once it is deleted.
    for (const { shard } of lost)
      if ((await shard.redis.get(recoveryKey(shard))) === token) await shard.redis.del(recoveryKey(shard));
    const deliveries = counts.deliveries + letters.deliveries;
    return { registrations, deadLetters: letters.deadLetters, endedLetters: 0, ...counts, deliveries };
  } finally {
    await queue.close();
  }
}

/** Removes the dead letters that operators ended, from a Redis that was not lost but may be restored from an older copy. */
async function endAll(parts: RecoveryParts, log: RecoveryLog, now: number, shown: Progress) {
  await parts.view.reload();
  const queue = new BullmqRetryQueue(parts.shards);
  const reader = new DeadLetterReader(parts.shards);
  try {
    const logged = await readLogged(log, () => true, shown);
    const { ended, deliveries } = await endLetters(reader, logged, queue, parts.view, now);
    if (ended === 0)
      throw new Error('Redis knows how far the log was read: nothing was lost, and there is nothing to recover');
    const registrations = await registrationsOf(parts);
    return { registrations, deadLetters: 0, endedLetters: ended, records: 0, deliveries, alreadyFinal: 0 };
  } finally {
    await Promise.all([queue.close(), reader.close()]);
  }
}

async function readLogged(
  log: RecoveryLog,
  isLost: (envelopeId: string) => boolean,
  shown: Progress,
): Promise<LoggedDeliveries> {
  const logged = { outcomes: new Outcomes(), letters: new LoggedDeadLetters() };
  const readAll = async (what: string, ranges: readonly LogRange[], take: (value: Buffer | null) => void) => {
    shown.begin(what, total(ranges));
    await log.read(ranges, (_range, messages) => {
      for (const { value } of messages) take(value);
      shown.done(messages.length);
    });
  };
  await readAll('reading dead letters', log.deadLetters, (value) => {
    const letter = readLetter(value);
    if (letter !== undefined) logged.letters.take(letter);
  });
  await readAll('reading attempts', log.attempts, (value) => {
    const attempt = value === null ? undefined : readAttempt(value);
    if (attempt !== undefined && isLost(attempt.envelopeId)) logged.outcomes.take(attempt);
  });
  return logged;
}

/** Reads each partition once for all shards, from the lowest offset at which a shard continues. */
async function recoverPartitions(
  log: RecoveryLog,
  shards: readonly LostShard[],
  recoveryOf: (shard: LostShard, range: EventRange) => PartitionRecovery,
  shown: Progress,
): Promise<void> {
  const places = new Map<string, { range: EventRange; recoveries: PartitionRecovery[] }>();
  for (const shard of shards)
    for (const range of shard.lost) {
      const recovery = recoveryOf(shard, range);
      const from = Math.min(await recovery.begin(range.from), range.end);
      const known = places.get(nameOf(range));
      places.set(nameOf(range), {
        range: { ...range, from: Math.min(from, known?.range.from ?? from) },
        recoveries: [...(known?.recoveries ?? []), recovery],
      });
    }
  const all = [...places.values()];
  const ranges = all.map(({ range }) => range);
  shown.begin('reading envelopes', total(ranges));
  await log.read(ranges, async (range, messages) => {
    for (let at = 0; at < messages.length; at += CHUNK) {
      const chunk = messages.slice(at, at + CHUNK);
      for (const recovery of places.get(nameOf(range))?.recoveries ?? []) await recovery.take(chunk.map(logRecordOf));
      shown.done(chunk.length);
    }
  });
  for (const { range, recoveries } of all) for (const recovery of recoveries) await recovery.finish(range.end);
}

const nameOf = ({ topic, partition }: LogRange): string => `${topic}/${partition}`;

/** @throws Error if a clock is wrong. If it were days ahead, the seven days that are read would contain no envelope */
async function assertClock(redis: Redis): Promise<void> {
  const clock = new StoreClock();
  await clock.look(redis);
  if (clock.fault !== undefined)
    throw new Error(`${clock.fault[0]?.toUpperCase()}${clock.fault.slice(1)}, then run \`relay recover\` again`);
}

const registrationsOf = async ({ redis }: RecoveryParts): Promise<number> =>
  (await redis.hlen(clientKeys[0])) + (await redis.hlen(webhookKeys[0]));

const total = (ranges: readonly { from: number; end: number }[]): number =>
  ranges.reduce((sum, { from, end }) => sum + end - from, 0);
