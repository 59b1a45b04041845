import 'reflect-metadata';
import { startWith } from '@relay/config';
import { WorkerEnv } from '@relay/settings';
import { startWorker } from './start.js';

await startWith(WorkerEnv, process.env, startWorker);
