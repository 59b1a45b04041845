import { dedupeEnv, historyEnv } from '@relay/config';
import { RedisSeenStore } from '@relay/dedupe';
import type { AttemptRecord } from '@relay/events';
import { RedisDeliveryHistory } from '@relay/history';
import { AttemptFinder, KeptAdmin, LogFetcher } from '@relay/kafka';
import { InvalidArgumentError, type Command } from 'commander';
import { z } from 'zod';
import { withKafka, withRedis } from '../connections.adapter.js';
import { documented } from '../documented.js';
import { settingsOf } from '../settings.js';
import { answer, type Shell } from '../shell.js';
import { jobsOfEnvelope } from './envelope-jobs.adapter.js';
import { reportOf, type EnvelopeReport } from './envelope-report.js';
import { reportText } from './report-text.js';

interface Options {
  json?: boolean;
  since?: number;
}

/** Of attempts, beside those of which Redis knows the time. */
const LATEST_MS = 600_000;
/** Whoever names a time gets all of it, however long it takes. */
const BOUNDS = { maxBytes: Infinity, answerMs: 1_800_000 };

export function defineGetDeliveries(group: Command, shell: Shell): void {
  const command = group
    .command('get')
    .description('show an envelope in full without the operations app: its mark, its deliveries, every attempt')
    .argument('<id>', 'id of the envelope', envelopeIdOf)
    .option(
      '--since <time>',
      'read all attempts since then; by default the last ten minutes, and those whose time Redis knows',
      momentOf,
    )
    .action(async (envelopeId: string, options: Options) => {
      const report = await find(shell, envelopeId, options.since);
      const isKnown = report.seen !== null || report.deliveries.length > 0;
      if (!isKnown) shell.exitCode = 1;
      const unknown = `Nothing is known of the envelope ${envelopeId}: it was never accepted, or too long ago.`;
      answer(shell, options, report, isKnown ? reportText(report) : unknown);
    });
  documented(command, 'deliveries get 3c2a5a9e-6d0f-4b3c-9c57-1c7c1c0a7f11');
}

/** Reads the jobs once more after the log, so that a delivery that moves from one to the other is not missed. */
async function find(shell: Shell, envelopeId: string, given: number | undefined): Promise<EnvelopeReport> {
  const { DEDUPE_WINDOW, HISTORY_WINDOW } = settingsOf(shell, { ...dedupeEnv, ...historyEnv });
  return withRedis(shell, async (_redis, shards) => {
    const delivered = await new RedisDeliveryHistory(shards, HISTORY_WINDOW).timesOf(envelopeId);
    const jobs = await jobsOfEnvelope(shards, envelopeId);
    const ended = jobs.flatMap(({ tries }) => tries).map(({ at, durationMs }) => at + durationMs);
    const moments = [...delivered, ...ended, ...jobs.flatMap(({ diedAt }) => diedAt ?? [])];
    const records = await attemptsAt(shell, { envelopeId, moments, since: given ?? Date.now() - LATEST_MS });
    const [seen] = await new RedisSeenStore(shards, DEDUPE_WINDOW).find([envelopeId]);
    return reportOf(envelopeId, seen, await jobsOfEnvelope(shards, envelopeId), records);
  });
}

function attemptsAt(
  shell: Shell,
  sought: { envelopeId: string; moments: readonly number[]; since: number },
): Promise<AttemptRecord[]> {
  return withKafka(shell, async (kafka, { KAFKA_TOPIC_PREFIX }) => {
    const admin = new KeptAdmin(kafka);
    const finder = new AttemptFinder(new LogFetcher(kafka), admin, KAFKA_TOPIC_PREFIX, BOUNDS);
    try {
      return await finder.find(sought);
    } finally {
      await Promise.all([finder.close(), admin.close()]);
    }
  });
}

function momentOf(text: string): number {
  if (!z.iso.datetime({ offset: true }).safeParse(text).success)
    throw new InvalidArgumentError('A time such as 2026-01-01T10:00:00Z is expected.');
  return Date.parse(text);
}

function envelopeIdOf(text: string): string {
  if (!z.guid().safeParse(text).success) throw new InvalidArgumentError('The id of an envelope is a UUID.');
  return text.toLowerCase();
}
