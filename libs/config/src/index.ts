// Owns how a process reads its environment: schemas of the variables, parsed once at start by
// main.ts (the only reader of process.env). Guarantees that all faults are reported at once, by name, without a value.
// Leaves to others what the values mean: each app picks the groups it needs.
export { operationsEnv, sendEnv } from './command-line.js';
export { parseDuration } from './duration.js';
export {
  ConfigurationFault,
  duration,
  flag,
  integer,
  isSecret,
  list,
  optionalFlag,
  parseEnv,
  readableBy,
  secret,
  type Environment,
} from './env.js';
export { origins, portalEnv } from './portal.js';
export { hasKafkaLogin, kafkaEnv } from './kafka-settings.js';
export {
  dedupeEnv,
  egressEnv,
  hasRedis,
  historyEnv,
  httpEnv,
  keyringEnv,
  processEnv,
  redisAddressFault,
  redisEnv,
  retryEnv,
  searchEnv,
  telemetryEnv,
  tokenEnv,
  type TelemetryEnv,
  webhooksEnv,
} from './settings.js';
export { startWith } from './start-with.adapter.js';
export { RELAY_VERSION } from './version.js';
