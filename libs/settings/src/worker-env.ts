import {
  dedupeEnv,
  duration,
  egressEnv,
  hasKafkaLogin,
  hasRedis,
  historyEnv,
  integer,
  kafkaEnv,
  keyringEnv,
  processEnv,
  readableBy,
  redisEnv,
  retryEnv,
  telemetryEnv,
} from '@relay/config';
import { egressPolicy } from '@relay/egress';
import { Keyring } from '@relay/keyring';
import { parseSchedule } from '@relay/retry';
import { z } from 'zod';

const NO_EGRESS = { ports: [], allowHttp: false, allowCidrs: [], denyCidrs: [] };
const cidrs = (allowCidrs: readonly string[]): unknown => egressPolicy({ ...NO_EGRESS, allowCidrs });

/** Environment of the worker. */
export const WorkerEnv = z
  .object({
    ...processEnv,
    ...telemetryEnv,
    ...kafkaEnv,
    ...redisEnv,
    ENCRYPTION_KEYS: keyringEnv.ENCRYPTION_KEYS.superRefine(readableBy((text: string) => Keyring.parse(text))),
    ...egressEnv,
    EGRESS_PORTS: egressEnv.EGRESS_PORTS.superRefine(readableBy((ports) => egressPolicy({ ...NO_EGRESS, ports }))),
    EGRESS_ALLOW_CIDRS: egressEnv.EGRESS_ALLOW_CIDRS.superRefine(readableBy(cidrs)),
    EGRESS_DENY_CIDRS: egressEnv.EGRESS_DENY_CIDRS.superRefine(readableBy(cidrs)),
    EGRESS_NAT64_PREFIX: egressEnv.EGRESS_NAT64_PREFIX.superRefine(
      readableBy((nat64Prefix: string) => egressPolicy({ ...NO_EGRESS, nat64Prefix })),
    ),
    RETRY_SCHEDULE: retryEnv.RETRY_SCHEDULE.superRefine(readableBy(parseSchedule)),
    ...dedupeEnv,
    ...historyEnv,
    HEALTH_PORT: integer(3200, 0, 65_535).describe('Port for health and metrics.'),
    DELIVERY_TIMEOUT: duration('15s', { to: '5m' }).describe('Total deadline of one attempt, at most 5m.'),
    DELIVERY_CONCURRENCY: integer(512, 1, 100_000).describe(
      'Attempts one worker makes at once; deliveries from the queue may be half of them. What hangs beyond a quarter does not count, up to as many again.',
    ),
    QUEUE_LIMIT: integer(100_000, 1, 100_000_000).describe(
      'Queued deliveries above which no further records are read; they wait in the log. Resumes at 80 %.',
    ),
    WEBHOOK_QUEUE_LIMIT: integer(1_000, 1, 1_000_000).describe(
      'Waiting deliveries of a webhook above which what comes for it waits in the log; ten times as many, or 32 MiB, for all of a partner.',
    ),
    REGISTRY_SNAPSHOT_AFTER: integer(10_000, 10, 100_000_000).describe(
      'Changes of clients and webhooks, at least four for each there is, after which a snapshot lets the older ones go.',
    ),
    ENDPOINT_CONCURRENCY: integer(64, 1, 10_000).describe('Attempts one worker makes at once to one endpoint.'),
  })
  .refine(...hasKafkaLogin)
  .refine(...hasRedis);

export type WorkerConfig = z.infer<typeof WorkerEnv>;
