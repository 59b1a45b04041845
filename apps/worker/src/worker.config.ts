import {
  dedupeEnv,
  duration,
  egressEnv,
  integer,
  kafkaEnv,
  keyringEnv,
  processEnv,
  redisEnv,
  retryEnv,
} from '@relay/config';
import { z } from 'zod';

/** Environment of the worker (contract section 7). */
export const WorkerEnv = z.object({
  ...processEnv,
  ...kafkaEnv,
  ...redisEnv,
  ...keyringEnv,
  ...egressEnv,
  ...retryEnv,
  ...dedupeEnv,
  HEALTH_PORT: integer(3200, 0, 65_535).describe('Port for health and metrics.'),
  DELIVERY_TIMEOUT: duration('15s').describe('Total deadline of one attempt.'),
  DELIVERY_CONCURRENCY: integer(512, 1, 100_000).describe('Attempts one worker makes at once.'),
  ENDPOINT_CONCURRENCY: integer(64, 1, 10_000).describe('Attempts one worker makes at once to one endpoint.'),
});

export type WorkerConfig = z.infer<typeof WorkerEnv>;
