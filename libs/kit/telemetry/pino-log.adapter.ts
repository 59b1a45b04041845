import type { LoggerService } from '@nestjs/common';
import { pino, type DestinationStream, type Logger } from 'pino';
import { Log, type LogFields } from './log.js';

/** Bound for one event word; lines of level debug are not bounded. */
const LINES_PER_SECOND = 20;
/** Token bucket of all lines. With that of errors any second has at most 99 lines, and one that counts the dropped lines. */
const USUAL = { burst: 40, perSecond: 39 };
/** Reserved for errors, so that warnings do not displace them. */
const ERRORS = { burst: 10, perSecond: 10 };

/** Names of fields that must never be in a line. No field has one of them; this guards against later ones. */
const SECRETS = [
  'apiKey x-api-key jwt authorization proxy-authorization cookie set-cookie assertion password passphrase secret secrets',
  'clientSecret client_secret credential credentials token accessToken access_token refreshToken refresh_token privateKey',
  'sasl ENCRYPTION_KEYS JWT_PRIVATE_KEYS KAFKA_SASL_PASSWORD KAFKA_SSL_KEY REDIS_URL REDIS_PASSWORD',
  'REDIS_SENTINEL_PASSWORD EGRESS_PROXY_URL',
].flatMap((names) => names.split(' '));
/** Fields of a line and the members of their objects, such as the request of an error. */
const REDACT = SECRETS.flatMap((name) => [`["${name}"]`, `*["${name}"]`]);

/**
 * JSON lines on standard output, at most 100 a second. Dropped lines of one event word are counted in its next line; lines that
 * the bound of all words drops are counted in one line `log.left_out`.
 */
export class PinoLog extends Log {
  readonly #pino: Logger;
  readonly #budget = new LineBudget(LINES_PER_SECOND);
  readonly #bound = new LineBound();
  #report: NodeJS.Timeout | undefined;

  constructor(service: string, level: string, to?: DestinationStream) {
    super();
    // Synchronous: pino flushes buffered lines at exit. There sonic-boom 4.2.1 repeats a write to a closed pipe forever, so a
    // process without a reader of its log never ends.
    this.#pino = pino({ level, base: { service }, redact: REDACT }, to ?? pino.destination({ sync: true }));
  }

  error(event: string, message: string, fields?: LogFields): void {
    this.#say('error', event, message, fields);
  }
  warn(event: string, message: string, fields?: LogFields): void {
    this.#say('warn', event, message, fields);
  }
  info(event: string, message: string, fields?: LogFields): void {
    this.#say('info', event, message, fields);
  }
  debug(event: string, message: string, fields?: LogFields): void {
    this.#pino.debug({ event, ...fields }, message);
  }

  #say(level: 'error' | 'warn' | 'info', event: string, message: string, fields?: LogFields): void {
    const unsaid = this.#budget.take(event, Date.now());
    if (unsaid === undefined || !this.#pino.isLevelEnabled(level)) return;
    if (!this.#bound.spend(event, level === 'error', performance.now())) return this.#willTellLeftOut();
    this.#pino[level](unsaid > 0 ? { event, ...fields, unsaid } : { event, ...fields }, message);
  }

  #willTellLeftOut(): void {
    if (this.#report !== undefined) return;
    this.#report = setTimeout(this.#tellLeftOut, 1_000);
    // The report is also due when the process ends before it: the reason may be among these lines.
    process.once('exit', this.#tellLeftOut);
  }

  readonly #tellLeftOut = (): void => {
    clearTimeout(this.#report);
    this.#report = undefined;
    process.off('exit', this.#tellLeftOut);
    const events = [...this.#bound.leftOut()].map(([event, count]) => `${event} ${count}`);
    this.#pino.warn(
      { event: 'log.left_out', events },
      'The process had more lines than it may write in a second; the rest are left out',
    );
  };
}

/** A logger for Nest, whose lines matter only when a start fails: info becomes debug. */
export const nestLoggerOf = (log: Log): LoggerService => ({
  log: (message: unknown) => log.debug('nest', String(message)),
  error: (message: unknown) =>
    log.error('nest', message instanceof Error ? (message.stack ?? message.message) : String(message)),
  warn: (message: unknown) => log.warn('nest', String(message)),
});

/**
 * Bounds the lines of one event word in a second, so that a burst (a thousand dead letters after an outage) leaves the log
 * readable. The next line of that word has the count of dropped lines.
 */
export class LineBudget {
  readonly #spent = new Map<string, { second: number; said: number; unsaid: number }>();

  constructor(private readonly perSecond: number) {}

  /** @returns how many lines of the word were dropped since its last one; undefined when this one must be dropped too */
  take(event: string, nowMs: number): number | undefined {
    const second = Math.floor(nowMs / 1_000);
    let spent = this.#spent.get(event);
    if (spent === undefined) this.#spent.set(event, (spent = { second, said: 0, unsaid: 0 }));
    if (spent.second !== second) {
      spent.second = second;
      spent.said = 0;
    }
    if (spent.said >= this.perSecond) {
      spent.unsaid += 1;
      return undefined;
    }
    spent.said += 1;
    const { unsaid } = spent;
    spent.unsaid = 0;
    return unsaid;
  }
}

class Bucket {
  #tokens: number;
  #at = 0;

  constructor(private readonly limit: { burst: number; perSecond: number }) {
    this.#tokens = limit.burst;
  }

  take(now: number): boolean {
    const { burst, perSecond } = this.limit;
    // A clock that was set back adds no tokens, one that was set forward at most a burst.
    this.#tokens = Math.min(burst, this.#tokens + (Math.max(0, now - this.#at) * perSecond) / 1_000);
    this.#at = now;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}

/** Bounds the lines of a process over all event words, and counts the dropped lines of each word. */
export class LineBound {
  readonly #usual = new Bucket(USUAL);
  readonly #errors = new Bucket(ERRORS);
  #leftOut = new Map<string, number>();

  /** Whether a line may be written. @param now milliseconds */
  spend(event: string, isError: boolean, now: number): boolean {
    if (this.#usual.take(now) || (isError && this.#errors.take(now))) return true;
    this.#leftOut.set(event, (this.#leftOut.get(event) ?? 0) + 1);
    return false;
  }

  /** Dropped lines of each event word since the last call. */
  leftOut(): ReadonlyMap<string, number> {
    const counts = this.#leftOut;
    this.#leftOut = new Map();
    return counts;
  }
}
