import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { ConfigurationFault, isSecret, parseEnv, type Environment } from './env.js';

/**
 * Starts a process with its configuration. If the start fails, it writes one JSON line to standard error, with all faults of the
 * configuration or the other reason, and the process ends with 1. The line holds no value of a secret, which the text of a driver
 * may repeat.
 */
export async function startWith<S extends z.ZodObject>(
  schema: S,
  env: Environment,
  start: (config: z.infer<S>) => Promise<void>,
): Promise<void> {
  let secrets: readonly string[] = [];
  try {
    const config = parseEnv(schema, env, (path) => readFileSync(path, 'utf8'));
    secrets = Object.entries(schema.shape).flatMap(([name, field]) => {
      const value: unknown = isSecret(field as z.ZodType) ? config[name] : undefined;
      return typeof value === 'string' && value !== '' ? [value] : [];
    });
    await start(config);
  } catch (error) {
    tell(error, secrets);
    process.exit(1);
  }
}

function tell(error: unknown, secrets: readonly string[]): void {
  const line =
    error instanceof ConfigurationFault
      ? { level: 60, event: 'configuration.wrong', msg: 'The process ends: settings are wrong', faults: error.faults }
      : { level: 60, event: 'start.failed', msg: 'The process did not start', reason: reasonOf(error, secrets) };
  process.stderr.write(`${JSON.stringify(line)}\n`);
}

const reasonOf = (error: unknown, secrets: readonly string[]): string =>
  secrets.reduce(
    (text, secret) => text.replaceAll(secret, '[secret]'),
    error instanceof Error ? error.message || error.name : String(error),
  );
