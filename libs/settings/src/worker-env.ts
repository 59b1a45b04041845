import {
  dedupeEnv,
  duration,
  hasKafkaLogin,
  hasRedis,
  historyEnv,
  integer,
  kafkaEnv,
  processEnv,
  readableBy,
  redisEnv,
  retryEnv,
  telemetryEnv,
} from '@relay/config';
import { parseSchedule } from '@relay/retry';
import { z } from 'zod';
import { checkedEgressEnv, checkedKeyringEnv } from './checked-groups.js';

/** Environment of the worker. */
export const WorkerEnv = z
  .object({
    ...processEnv,
    ...telemetryEnv,
    ...kafkaEnv,
    ...redisEnv,
    ...checkedKeyringEnv,
    ...checkedEgressEnv,
    RETRY_SCHEDULE: retryEnv.RETRY_SCHEDULE.superRefine(readableBy(parseSchedule)),
    ...dedupeEnv,
    ...historyEnv,
    HEALTH_PORT: integer(3200, 0, 65_535).describe('Port for health and metrics.'),
    DELIVERY_TIMEOUT: duration('15s', { to: '5m' }).describe('Total deadline of one attempt, at most 5m.'),
    DELIVERY_CONCURRENCY: integer(512, 1, 100_000).describe(
      'Attempts one worker makes at once; deliveries from the queue may be half of them. Attempts that hang beyond a quarter do not count, up to as many again.',
    ),
    QUEUE_LIMIT: integer(100_000, 1, 100_000_000).describe(
      'Queued deliveries above which no further records are read; they wait in the log. Resumes at 80 %.',
    ),
    WEBHOOK_QUEUE_LIMIT: integer(1_000, 1, 1_000_000).describe(
      'Waiting deliveries of a webhook above which further ones wait in the log; ten times as many, or 32 MiB, for all webhooks of a partner.',
    ),
    REGISTRY_SNAPSHOT_AFTER: integer(10_000, 10, 100_000_000).describe(
      'Changes of clients and webhooks, at least four for each of them, after which a snapshot replaces the older ones.',
    ),
    ENDPOINT_CONCURRENCY: integer(64, 1, 10_000).describe('Attempts one worker makes at once to one endpoint.'),
  })
  .refine(...hasKafkaLogin)
  .refine(...hasRedis);

export type WorkerConfig = z.infer<typeof WorkerEnv>;
