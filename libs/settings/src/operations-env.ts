import {
  hasKafkaLogin,
  hasRedis,
  historyEnv,
  httpEnv,
  integer,
  kafkaEnv,
  optionalFlag,
  portalEnv,
  processEnv,
  redisEnv,
  searchEnv,
} from '@relay/config';
import { z } from 'zod';
import { checkedDestinationEnv, checkedKeyringEnv, checkedTokenEnv } from './checked-groups.js';

/** Environment of the operations app. */
export const OperationsEnv = z
  .object({
    ...processEnv,
    ...kafkaEnv,
    ...redisEnv,
    ...checkedKeyringEnv,
    ...checkedTokenEnv,
    ...checkedDestinationEnv,
    OPERATIONS_PORT: integer(3100, 0, 65_535).describe('Port of the queue board and of the operator’s API.'),
    OPERATIONS_WRITE: optionalFlag().describe(
      'Not set: operators change what their role permits by the API, and the queue board is read-only. `true`: the board may promote jobs, and pause and resume the queue of deliveries, too. `false`: nothing may be changed.',
    ),
    HEALTH_PORT: integer(3101, 0, 65_535).describe('Port for health and metrics.'),
    ...historyEnv,
    ...searchEnv,
    ...portalEnv,
    ...httpEnv,
  })
  .refine(...hasKafkaLogin)
  .refine(...hasRedis);

export type OperationsConfig = z.infer<typeof OperationsEnv>;

/** Injection token of the process's OperationsConfig. */
export const OPERATIONS_CONFIG = Symbol('OperationsConfig');
