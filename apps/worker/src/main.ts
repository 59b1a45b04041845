import 'reflect-metadata';
import { readConfig } from '@relay/config';
import { WorkerEnv } from '@relay/settings';
import { startWorker } from './start.js';

await startWorker(readConfig(WorkerEnv, process.env));
