// Owns how a process reads its environment: the schemas of all variables. main.ts parses them once at the start, and is the
// only code that reads process.env. Guarantees that all faults are reported at once, by the names of the variables and
// without their values. Leaves the meaning of the values to the apps, each of which picks the groups of variables that it
// needs.
export { operationsEnv, sendEnv, origins, portalEnv, dedupeEnv, egressEnv, hasRedis, historyEnv } from './settings.js';
export { httpEnv, keyringEnv, processEnv, redisAddressFault, redisEnv, retryEnv, searchEnv } from './settings.js';
export { RELAY_VERSION, telemetryEnv, tokenEnv, webhooksEnv } from './settings.js';
export { hasOidc, oidcEnv } from './settings.js';
export type { TelemetryEnv } from './settings.js';
export { parseDuration, ConfigurationFault, duration, flag, integer, isSecret, list, optionalFlag } from './env.js';
export { parseEnv, readableBy, secret, startWith } from './env.js';
export type { Environment } from './env.js';
export { hasKafkaLogin, kafkaEnv } from './kafka-settings.js';
