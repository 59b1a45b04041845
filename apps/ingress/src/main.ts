import 'reflect-metadata';
import { startWith } from '@relay/config';
import { IngressEnv } from '@relay/settings';
import { startIngress } from './start.js';

await startWith(IngressEnv, process.env, startIngress);
