import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { ConfigurationFault, parseEnv } from '@relay/config';
import { OperationsEnv, type OperationsConfig } from './operations.config.js';
import { startOperations } from './start.js';

await startOperations(readConfig());

function readConfig(): OperationsConfig {
  try {
    return parseEnv(OperationsEnv, process.env, (path) => readFileSync(path, 'utf8'));
  } catch (error) {
    if (!(error instanceof ConfigurationFault)) throw error;
    process.stderr.write(`${error.message}\n`);
    return process.exit(1);
  }
}
