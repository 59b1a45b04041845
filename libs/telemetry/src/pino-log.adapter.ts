import type { LoggerService } from '@nestjs/common';
import { pino, type DestinationStream, type Logger } from 'pino';
import { LineBound } from './line-bound.js';
import { LineBudget } from './line-budget.js';
import { Log, type LogFields } from './log.js';

/** Lines of one event word; those of level debug are asked for and not bounded. */
const LINES_PER_SECOND = 20;

/** Names of what must never stand in a line; no field of ours has one of them, this is for the day when one does. */
const SECRETS = [
  'apiKey x-api-key jwt authorization proxy-authorization cookie set-cookie assertion password passphrase secret secrets',
  'clientSecret client_secret credential credentials token accessToken access_token refreshToken refresh_token privateKey',
  'sasl ENCRYPTION_KEYS JWT_PRIVATE_KEYS KAFKA_SASL_PASSWORD KAFKA_SSL_KEY REDIS_URL REDIS_PASSWORD',
  'REDIS_SENTINEL_PASSWORD EGRESS_PROXY_URL',
].flatMap((names) => names.split(' '));
/** The fields of a line and what lies one level below them: an error that carries its request, say. */
const REDACT = SECRETS.flatMap((name) => [`["${name}"]`, `*["${name}"]`]);

/**
 * JSON lines on standard output, at most 100 a second whoever writes them and whatever is broken. What one event word has
 * too many of is counted in its next line, what all have too many of in one line `log.left_out`.
 */
export class PinoLog extends Log {
  readonly #pino: Logger;
  readonly #budget = new LineBudget(LINES_PER_SECOND);
  readonly #bound = new LineBound();
  #report: NodeJS.Timeout | undefined;

  constructor(service: string, level: string, to?: DestinationStream) {
    super();
    // Written at once: what pino holds back it flushes at exit, and there sonic-boom 4.2.1 repeats a write to a closed pipe
    // for ever, so that a process whose log nobody reads any more would never end.
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
    // Also when the process ends before: its last words may be among them.
    process.once('exit', this.#tellLeftOut);
  }

  readonly #tellLeftOut = (): void => {
    clearTimeout(this.#report);
    this.#report = undefined;
    process.off('exit', this.#tellLeftOut);
    const events = [...this.#bound.leftOut()].map(([event, count]) => `${event} ${count}`);
    this.#pino.warn(
      { event: 'log.left_out', events },
      'More lines came than are written in a second; they are left out',
    );
  };
}

/** Nest's own lines, which only matter when something fails at start: info becomes debug. */
export const nestLoggerOf = (log: Log): LoggerService => ({
  log: (message: unknown) => log.debug('nest', String(message)),
  error: (message: unknown) =>
    log.error('nest', message instanceof Error ? (message.stack ?? message.message) : String(message)),
  warn: (message: unknown) => log.warn('nest', String(message)),
});
