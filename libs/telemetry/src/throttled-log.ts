import type { Log, LogFields } from './log.js';

/**
 * Writes one line of an event word per interval and counts the others, so that a lasting fault (Redis away, a full disk at the
 * broker) leaves the log readable. The next line has the count.
 */
export class ThrottledLog {
  readonly #last = new Map<string, { at: number; dropped: number }>();

  constructor(
    private readonly log: Log,
    private readonly everyMs = 5_000,
    private readonly now: () => number = () => performance.now(), // monotonic: the host's clock may be set back
  ) {}

  warn(event: string, message: string, fields?: LogFields): void {
    this.#say('warn', event, message, fields);
  }

  info(event: string, message: string, fields?: LogFields): void {
    this.#say('info', event, message, fields);
  }

  #say(level: 'warn' | 'info', event: string, message: string, fields?: LogFields): void {
    const now = this.now();
    const entry = this.#last.get(event);
    if (entry !== undefined && now - entry.at < this.everyMs) {
      entry.dropped += 1;
      return;
    }
    this.log[level](
      event,
      message,
      entry !== undefined && entry.dropped > 0 ? { ...fields, unsaid: entry.dropped } : fields,
    );
    this.#last.set(event, { at: now, dropped: 0 });
  }
}
