import type { LoggerService } from '@nestjs/common';
import { pino, type DestinationStream, type Logger } from 'pino';
import { LineBound } from './line-bound.js';
import { LineBudget } from './line-budget.js';
import { Log, type LogFields } from './log.js';

/** Bound for one event word; lines of level debug are not bounded. */
const LINES_PER_SECOND = 20;

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
    // Synchronous: pino flushes buffered lines at exit, where sonic-boom 4.2.1 repeats a write to a closed pipe forever, so that a
    // process without a reader of its log would never end.
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
    // Also when the process ends before the report: the reason may be among these lines.
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
