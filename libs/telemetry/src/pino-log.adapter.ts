import type { LoggerService } from '@nestjs/common';
import { pino, type Logger } from 'pino';
import { LineBudget } from './line-budget.js';
import { Log, type LogFields } from './log.js';

/** Lines of one event word; those of level debug are asked for and not bounded. */
const LINES_PER_SECOND = 20;

/** JSON lines on standard output. */
export class PinoLog extends Log {
  readonly #pino: Logger;
  readonly #budget = new LineBudget(LINES_PER_SECOND);

  constructor(service: string, level: string) {
    super();
    const redact = ['*.apiKey', '*.jwt', '*.password', '*.secret', '*.authorization', '*.token'];
    // Written at once: what pino holds back it flushes at exit, and there sonic-boom 4.2.1 repeats a write to a closed pipe
    // for ever, so that a process whose log nobody reads any more would never end.
    this.#pino = pino({ level, base: { service }, redact }, pino.destination({ sync: true }));
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
    if (unsaid === undefined) return;
    this.#pino[level](unsaid > 0 ? { event, ...fields, unsaid } : { event, ...fields }, message);
  }
}

/** Nest's own lines, which only matter when something fails at start: info becomes debug. */
export const nestLoggerOf = (log: Log): LoggerService => ({
  log: (message: unknown) => log.debug('nest', String(message)),
  error: (message: unknown) =>
    log.error('nest', message instanceof Error ? (message.stack ?? message.message) : String(message)),
  warn: (message: unknown) => log.warn('nest', String(message)),
});
