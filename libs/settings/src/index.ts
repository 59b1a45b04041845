// Owns the environment of each process: one schema an app, put together from the groups of `config`.
// Guarantees that a process starts with settings that it can use, or names every fault and ends.
// Leaves to `config` how a variable is read, and to the users of the values (`access`, `egress`, `keyring`, `retry`) what is valid.
export { commandLineEnv } from './command-line-env.js';
export { policyOf } from './egress-policy.js';
export { INGRESS_CONFIG, IngressEnv, type IngressConfig } from './ingress-env.js';
export { OPERATIONS_CONFIG, OperationsEnv, type OperationsConfig } from './operations-env.js';
export { WorkerEnv, type WorkerConfig } from './worker-env.js';
