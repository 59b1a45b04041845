import 'reflect-metadata';
import { readConfig } from '@relay/config';
import { OperationsEnv } from '@relay/settings';
import { startOperations } from './start.js';

await startOperations(readConfig(OperationsEnv, process.env));
