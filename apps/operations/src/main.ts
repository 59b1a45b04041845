import 'reflect-metadata';
import { startWith } from '@relay/config';
import { OperationsEnv } from '@relay/settings';
import { startOperations } from './start.js';

await startWith(OperationsEnv, process.env, startOperations);
