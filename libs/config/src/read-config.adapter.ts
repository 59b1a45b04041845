import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { ConfigurationFault, parseEnv, type Environment } from './env.js';

/** The configuration of a process. Prints every fault and ends the process with exit code 1 when there is one. */
export function readConfig<S extends z.ZodObject>(schema: S, env: Environment): z.infer<S> {
  try {
    return parseEnv(schema, env, (path) => readFileSync(path, 'utf8'));
  } catch (error) {
    if (!(error instanceof ConfigurationFault)) throw error;
    process.stderr.write(`${error.message}\n`);
    return process.exit(1);
  }
}
