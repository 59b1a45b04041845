import 'reflect-metadata';
import { readConfig } from '@relay/config';
import { IngressEnv } from '@relay/settings';
import { startIngress } from './start.js';

await startIngress(readConfig(IngressEnv, process.env));
