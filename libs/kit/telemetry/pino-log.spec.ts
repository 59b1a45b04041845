import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { LogFields } from './log.js';
import { LineBound, LineBudget, PinoLog } from './pino-log.adapter.js';

const SECRETS = `apiKey x-api-key jwt authorization proxy-authorization cookie set-cookie assertion password passphrase
  secret secrets clientSecret client_secret credential credentials token accessToken access_token refreshToken refresh_token
  privateKey sasl ENCRYPTION_KEYS JWT_PRIVATE_KEYS KAFKA_SASL_PASSWORD KAFKA_SSL_KEY REDIS_URL REDIS_PASSWORD
  REDIS_SENTINEL_PASSWORD EGRESS_PROXY_URL`.split(/\s+/);
const CANARY = 'canary-4711';

describe('a log line', () => {
  it.each(['error', 'warn', 'info', 'debug'] as const)(
    'at level %s leaves out what is secret, as a field and one level below',
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

const lines = (bound: LineBound, count: number, now: number, isError = false): number =>
  Array.from({ length: count }, () => bound.spend('queue.fault', isError, now)).filter(Boolean).length;

describe('LineBound', () => {
  it('allows the lines of a start, and of a storm 40 and then 39 a second', () => {
    const bound = new LineBound();
    expect([lines(bound, 65_826, 0), lines(bound, 65_826, 1_000), lines(bound, 10, 1_001)]).toEqual([40, 39, 0]);
    expect(bound.leftOut()).toEqual(new Map([['queue.fault', 65_826 - 40 + 65_826 - 39 + 10]]));
    expect(bound.leftOut()).toEqual(new Map());
  });

  it('reserves lines for errors among warnings', () => {
    const bound = new LineBound();
    lines(bound, 1_000, 0);
    expect(lines(bound, 100, 0, true)).toBe(10);
  });

  it('never allows more than 99 lines in any second', () => {
    const event = fc.record({ after: fc.integer({ min: 0, max: 400 }), count: fc.integer({ min: 1, max: 200 }) });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), fc.boolean(), (events, isError) => {
        const bound = new LineBound();
        const written: number[] = [];
        let now = 0;
        for (const { after, count } of events) {
          now += after;
          for (let n = lines(bound, count, now, isError); n > 0; n -= 1) written.push(now);
        }
        // The hundredth after any of them comes a second later at the earliest.
        const within = written.filter((at, n) => (written[n + 99] ?? Infinity) < at + 1_000);
        expect(within).toEqual([]);
      }),
    );
  });
});

describe('the lines of one event word', () => {
  it('are all written up to the bound of a second, and again in the next second', () => {
    const budget = new LineBudget(2);
    const taken = [0, 10, 20, 999, 1_000].map((now) => budget.take('dead', now));
    expect(taken).toEqual([0, 0, undefined, undefined, 2]);
  });

  it('do not use up the bound of another word', () => {
    const budget = new LineBudget(1);
    expect([budget.take('dead', 0), budget.take('other', 0)]).toEqual([0, 0]);
  });

  it('report the count of dropped lines once', () => {
    const budget = new LineBudget(1);
    const taken = [0, 1, 2, 1_000, 2_000].map((now) => budget.take('dead', now));
    expect(taken).toEqual([0, undefined, undefined, 2, 0]);
  });
});
