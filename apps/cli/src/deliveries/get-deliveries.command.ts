import { dedupeEnv } from '@relay/config';
import { RedisSeenStore } from '@relay/dedupe';
import { deliveryAttemptsTopic } from '@relay/events';
import { InvalidArgumentError, type Command } from 'commander';
import { z } from 'zod';
import { withKafka, withRedis } from '../connections.adapter.js';
import { documented } from '../documented.js';
import { settingsOf } from '../settings.js';
import { answer, type Shell } from '../shell.js';
import { counted } from '../table.js';
import { readAttempts } from './attempt-reader.adapter.js';
import { jobsOfEnvelope } from './envelope-jobs.adapter.js';
import { reportOf, type EnvelopeReport } from './envelope-report.js';
import { reportText } from './report-text.js';

export function defineGetDeliveries(group: Command, shell: Shell): void {
  const command = group
    .command('get')
    .description('show an envelope in full: its mark, its deliveries, every attempt')
    .argument('<id>', 'id of the envelope', envelopeIdOf)
    .action(async (envelopeId: string, options: { json?: boolean }) => {
      const report = await find(shell, envelopeId);
      const isKnown = report.seen !== null || report.deliveries.length > 0;
      if (!isKnown) shell.exitCode = 1;
      const unknown = `Nothing is known of the envelope ${envelopeId}: it was never accepted, or too long ago.`;
      answer(shell, options, report, isKnown ? reportText(report) : unknown);
    });
  documented(command, 'deliveries get 3c2a5a9e-6d0f-4b3c-9c57-1c7c1c0a7f11');
}

/** Reads the jobs after the log, so that a delivery that moves from one to the other is not missed. */
async function find(shell: Shell, envelopeId: string): Promise<EnvelopeReport> {
  const { DEDUPE_WINDOW } = settingsOf(shell, dedupeEnv);
  return withRedis(shell, async (redis) => {
    const records = await withKafka(shell, (kafka, settings) => {
      const topic = deliveryAttemptsTopic(settings.KAFKA_TOPIC_PREFIX);
      return readAttempts(kafka, { topic, group: settings.KAFKA_CONSUMER_GROUP, envelopeId }, (partitions, read, of) =>
        shell.note(`reading ${counted(partitions, 'partition')} of ${topic}: ${read} of ${of} records`),
      );
    });
    const [seen] = await new RedisSeenStore(redis, DEDUPE_WINDOW).find([envelopeId]);
    return reportOf(envelopeId, seen, await jobsOfEnvelope(redis, envelopeId), records);
  });
}

function envelopeIdOf(text: string): string {
  if (!z.guid().safeParse(text).success) throw new InvalidArgumentError('The id of an envelope is a UUID.');
  return text.toLowerCase();
}
