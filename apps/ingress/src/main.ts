import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { ConfigurationFault, parseEnv } from '@relay/config';
import { IngressEnv, type IngressConfig } from './ingress.config.js';
import { startIngress } from './start.js';

await startIngress(readConfig());

function readConfig(): IngressConfig {
  try {
    return parseEnv(IngressEnv, process.env, (path) => readFileSync(path, 'utf8'));
  } catch (error) {
    if (!(error instanceof ConfigurationFault)) throw error;
    process.stderr.write(`${error.message}\n`);
    return process.exit(1);
  }
}
