import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { ConfigurationFault, parseEnv } from '@relay/config';
import { startWorker } from './start.js';
import { WorkerEnv, type WorkerConfig } from './worker.config.js';

await startWorker(readConfig());

function readConfig(): WorkerConfig {
  try {
    return parseEnv(WorkerEnv, process.env, (path) => readFileSync(path, 'utf8'));
  } catch (error) {
    if (!(error instanceof ConfigurationFault)) throw error;
    process.stderr.write(`${error.message}\n`);
    return process.exit(1);
  }
}
