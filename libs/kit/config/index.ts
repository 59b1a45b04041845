// Owns how a process reads its environment: schemas of the variables, parsed once at start by main.ts (the only reader of
// process.env). Guarantees that all faults are reported at once, by name, without a value.
// Leaves to its users the meaning of the values: each app picks the groups it needs.
export { operationsEnv, sendEnv, origins, portalEnv, dedupeEnv, egressEnv, hasRedis, historyEnv } from './settings.js';
export { httpEnv, keyringEnv, processEnv, redisAddressFault, redisEnv, retryEnv, searchEnv } from './settings.js';
export { RELAY_VERSION, telemetryEnv, tokenEnv, webhooksEnv } from './settings.js';
export type { TelemetryEnv } from './settings.js';
export { parseDuration, ConfigurationFault, duration, flag, integer, isSecret, list, optionalFlag } from './env.js';
export { parseEnv, readableBy, secret, startWith } from './env.js';
export type { Environment } from './env.js';
export { hasKafkaLogin, kafkaEnv } from './kafka-settings.js';
