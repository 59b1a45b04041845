// Files of KEY=value lines, which no other user can read. dev.env has addresses, generated keys and development settings of one stack.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const devEnvFile = (home) => join(home, 'dev.env');

/** The values of dev.env; {} before the first `up`. */
export const readDevEnv = (home) => readEnv(devEnvFile(home));

/** The values of a file; {} if there is none. */
export function readEnv(file) {
  if (!existsSync(file)) return {};
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => /^\w+=/.test(line));
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
}

/** Replaces a file by a rename, so that no reader gets half of it. */
export function writeEnv(file, values) {
  const text = Object.entries(values)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
  const written = `${file}.${process.pid}`;
  writeFileSync(written, text, { mode: 0o600 });
  renameSync(written, file);
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
  writeEnv(devEnvFile(home), values);
  return values;
}

const keyId = () => `dev-${randomBytes(4).toString('hex')}`;
const privateKey = () =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .privateKey.export({ type: 'pkcs8', format: 'der' })
    .toString('base64');
