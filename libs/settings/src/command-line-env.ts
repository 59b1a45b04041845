import { dedupeEnv, kafkaEnv, keyringEnv, operationsEnv, processEnv, redisEnv, sendEnv, tokenEnv } from '@relay/config';

/** Every variable that the command line reads; each command reads only those that it needs. */
export const commandLineEnv = {
  RELAY_ENV: processEnv.RELAY_ENV,
  ...kafkaEnv,
  ...redisEnv,
  ...keyringEnv,
  JWT_PRIVATE_KEYS: tokenEnv.JWT_PRIVATE_KEYS,
  ...dedupeEnv,
  ...sendEnv,
  ...operationsEnv,
};
