// Owns the environment of each process: one schema for each app, composed of the groups of `config`.
// Guarantees that a process starts with settings that it can use, or names every fault and ends.
// Leaves to `config` how a variable is read, and to the users of the values (`access`, `egress`, `keyring`, `retry`) their
// checks.
export {
  commandLineEnv,
  DEFAULT_ENVELOPE_BYTES,
  INGRESS_CONFIG,
  IngressEnv,
  longestAttemptMs,
  OPERATIONS_CONFIG,
  OperationsEnv,
  policyOf,
  WorkerEnv,
  type IngressConfig,
  type OperationsConfig,
  type WorkerConfig,
} from './environments.js';
