import type { LoggerService } from '@nestjs/common';
import { pino, type DestinationStream, type Logger } from 'pino';
import { Log, type LogFields } from './log.js';

/** Maximum lines of one event word in a second. Lines of the level debug are not limited. */
const LINES_PER_SECOND = 20;
/**
 * Token bucket for all lines. Together with `ERRORS` it allows 99 lines in a second; one more line counts the dropped lines.
 */
const USUAL = { burst: 40, perSecond: 39 };
/** Additional token bucket for errors, so that warnings cannot use up all lines. */
const ERRORS = { burst: 10, perSecond: 10 };

/**
 * Names of fields that must never appear in a line. No field has such a name today; the list protects against future ones.
 */
const SECRETS = [
  'apiKey x-api-key jwt authorization proxy-authorization cookie set-cookie assertion password passphrase secret secrets',
  'clientSecret client_secret credential credentials token accessToken access_token refreshToken refresh_token privateKey',
  'sasl ENCRYPTION_KEYS JWT_PRIVATE_KEYS KAFKA_SASL_PASSWORD KAFKA_SSL_KEY REDIS_URL REDIS_PASSWORD',
  'REDIS_SENTINEL_PASSWORD EGRESS_PROXY_URL',
].flatMap((names) => names.split(' '));
/** Paths of fields of a line and of the members of its objects, such as the request in an error. */
const REDACT = SECRETS.flatMap((name) => [`["${name}"]`, `*["${name}"]`]);

/**
 * Writes JSON lines to standard output, at most 100 a second. If the limit of one event word drops lines, the next line of
 * that word contains their count. If the limit of all words drops lines, a line `log.left_out` contains the counts.
 */
export class PinoLog extends Log {
  readonly #pino: Logger;
  readonly #budget = new LineBudget(LINES_PER_SECOND);
  readonly #bound = new LineBound();
  #report: NodeJS.Timeout | undefined;

  constructor(service: string, level: string, to?: DestinationStream) {
    super();
    // Writes synchronously. If pino buffers lines, it writes them at exit, and sonic-boom 4.2.1 repeats a write to a closed pipe
    // forever. The process then never ends after the reader of its log has exited.
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
    // The report is also written if the process ends earlier, because the dropped lines may contain the reason.
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

/** Returns a logger for Nest. Its lines matter only if a start fails, so its info lines become debug lines. */
export const nestLoggerOf = (log: Log): LoggerService => ({
  log: (message: unknown) => log.debug('nest', String(message)),
  error: (message: unknown) =>
    log.error('nest', message instanceof Error ? (message.stack ?? message.message) : String(message)),
  warn: (message: unknown) => log.warn('nest', String(message)),
});

/**
 * Limits the lines of one event word in a second, so that the log stays readable in a burst, such as a thousand dead letters
 * after an outage. The next line of that word contains the number of dropped lines.
 */
export class LineBudget {
  readonly #spent = new Map<string, { second: number; said: number; unsaid: number }>();

  constructor(private readonly perSecond: number) {}

  /** @returns how many lines of the word were dropped since its last line; undefined if the new line must be dropped too */
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
    // If the clock was set back, no tokens are added. If it was set forward, at most a full burst is added.
    this.#tokens = Math.min(burst, this.#tokens + (Math.max(0, now - this.#at) * perSecond) / 1_000);
    this.#at = now;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}

/** Limits the lines of a process over all event words, and counts the dropped lines of each word. */
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

  /** Returns the number of dropped lines of each event word since the last call. */
  leftOut(): ReadonlyMap<string, number> {
    const counts = this.#leftOut;
    this.#leftOut = new Map();
    return counts;
  }
}
