// Kafka and Redis as containers of docker-compose.yml, when an engine with compose answers.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { root } from './paths.mjs';
import { run, succeeds } from './process.mjs';

/** The engine's command, or undefined: decided within two seconds, also when its daemon hangs. */
export async function findEngine() {
  const engines = ['docker', 'podman'].map(async (command) => {
    const answers = await Promise.all([succeeds(command, ['info']), succeeds(command, ['compose', 'version'])]);
    return answers.every(Boolean) && command;
  });
  return (await Promise.all(engines)).find(Boolean);
}

/** Runs compose for one stack; each home is a project of its own, so several run side by side. */
export const compose = (engine, home, env, signal, ...args) =>
  run(engine, ['compose', '-f', join(root, 'docker-compose.yml'), '-p', project(home), ...args], {
    signal,
    env: { ...process.env, ...env },
  });

export const project = (home) => `partner-relay-${createHash('sha256').update(home).digest('hex').slice(0, 8)}`;
