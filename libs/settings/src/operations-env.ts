import { parseSigningKeys } from '@relay/access';
import {
  flag,
  hasKafkaLogin,
  hasRedis,
  httpEnv,
  integer,
  kafkaEnv,
  keyringEnv,
  processEnv,
  readableBy,
  redisEnv,
  tokenEnv,
} from '@relay/config';
import { Keyring } from '@relay/keyring';
import { z } from 'zod';

/** Environment of the operations app. */
export const OperationsEnv = z
  .object({
    ...processEnv,
    ...kafkaEnv,
    ...redisEnv,
    ENCRYPTION_KEYS: keyringEnv.ENCRYPTION_KEYS.superRefine(readableBy((text: string) => Keyring.parse(text))),
    ...tokenEnv,
    PUBLIC_URL: tokenEnv.PUBLIC_URL.transform((url) => url.replace(/\/+$/, '')),
    JWT_PRIVATE_KEYS: tokenEnv.JWT_PRIVATE_KEYS.superRefine(readableBy(parseSigningKeys)),
    OPERATIONS_PORT: integer(3100, 0, 65_535).describe('Port of the queue board and of the operator’s API.'),
    OPERATIONS_WRITE: flag(false).describe(
      'Whether operators may promote jobs, and pause and resume the queue of deliveries, in the queue board.',
    ),
    HEALTH_PORT: integer(3101, 0, 65_535).describe('Port for health and metrics.'),
    ...httpEnv,
  })
  .refine(...hasKafkaLogin)
  .refine(...hasRedis);

export type OperationsConfig = z.infer<typeof OperationsEnv>;

/** Injection token of the process's OperationsConfig. */
export const OPERATIONS_CONFIG = Symbol('OperationsConfig');
