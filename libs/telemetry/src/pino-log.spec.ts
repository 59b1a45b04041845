import { describe, expect, it } from '@jest/globals';
import type { LogFields } from './log.js';
import { PinoLog } from './pino-log.adapter.js';

const SECRETS = `apiKey x-api-key jwt authorization proxy-authorization cookie set-cookie assertion password passphrase
  secret secrets clientSecret client_secret credential credentials token accessToken access_token refreshToken refresh_token
  privateKey sasl ENCRYPTION_KEYS JWT_PRIVATE_KEYS KAFKA_SASL_PASSWORD KAFKA_SSL_KEY REDIS_URL REDIS_PASSWORD
  REDIS_SENTINEL_PASSWORD EGRESS_PROXY_URL`.split(/\s+/);
const CANARY = 'canary-4711';

describe('a log line', () => {
  it.each(['error', 'warn', 'info', 'debug'] as const)(
    'of level %s leaves out what is secret, as a field and one level below',
    (level) => {
      const lines: string[] = [];
      const log = new PinoLog('spec', 'debug', { write: (line) => void lines.push(line) });
      const all = (value: string): LogFields => Object.fromEntries(SECRETS.map((name) => [name, value]));
      const request = (value: string): object => ({ request: { ...all(value), port: 3_000 } });
      log[level]('spec.said', 'a message', { ...all(CANARY), ...request(CANARY), reason: 'none' });
      const left = { ...all('[Redacted]'), ...request('[Redacted]'), reason: 'none', event: 'spec.said' };
      expect(JSON.parse(lines.join(''))).toMatchObject(left);
      expect(lines.join('')).not.toContain(CANARY);
    },
  );
});
