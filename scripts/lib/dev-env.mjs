// dev.env: addresses, generated keys and development settings of one stack, as KEY=value lines.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const devEnvFile = (home) => join(home, 'dev.env');

/** The values of dev.env; {} before the first `up`. */
export function readDevEnv(home) {
  if (!existsSync(devEnvFile(home))) return {};
  const lines = readFileSync(devEnvFile(home), 'utf8')
    .split('\n')
    .filter((line) => /^\w+=/.test(line));
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
}

/** Replaces the addresses and keeps the keys: envelopes and credentials of earlier runs must stay readable. */
export function writeDevEnv(home, addresses) {
  const kept = readDevEnv(home);
  const values = {
    RELAY_ENV: 'development',
    KAFKA_TOPIC_REPLICATION: '1',
    EGRESS_ALLOW_HTTP: 'true',
    EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
    ENCRYPTION_KEYS: kept.ENCRYPTION_KEYS ?? `${keyId()}:${randomBytes(32).toString('base64')}`,
    JWT_PRIVATE_KEYS: kept.JWT_PRIVATE_KEYS ?? `${keyId()}:${privateKey()}`,
    ...(kept.PUBLIC_URL && { PUBLIC_URL: kept.PUBLIC_URL, OPERATIONS_URL: kept.OPERATIONS_URL }),
    ...addresses,
  };
  const text = Object.entries(values)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
  const written = `${devEnvFile(home)}.${process.pid}`;
  writeFileSync(written, text, { mode: 0o600 });
  renameSync(written, devEnvFile(home));
  return values;
}

const keyId = () => `dev-${randomBytes(4).toString('hex')}`;
const privateKey = () =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .privateKey.export({ type: 'pkcs8', format: 'der' })
    .toString('base64');
