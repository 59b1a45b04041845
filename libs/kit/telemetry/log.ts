/** Values that a log line may contain: ids, counts and reasons, but never payloads, credentials or tokens. */
export type LogFields = Readonly<
  Record<string, string | number | boolean | null | undefined | readonly (string | number)[]>
>;

/**
 * The log of a process. This class is its injection token. `event` is a fixed word to search for (`envelope.accepted`,
 * `delivery.retried`). The message tells the person on duty what happened and what the relay does about it. Levels: `error`
 * means that someone must act, `warn` that the relay tries again by itself, and `info` that a state has changed.
 */
export abstract class Log {
  abstract error(event: string, message: string, fields?: LogFields): void;
  abstract warn(event: string, message: string, fields?: LogFields): void;
  abstract info(event: string, message: string, fields?: LogFields): void;
  abstract debug(event: string, message: string, fields?: LogFields): void;
}

/** Returns the message of a thrown value of any type, without a stack trace. */
export const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message || error.name : String(error);

/**
 * Writes at most one line per event name in each interval, and counts the lines that it drops. The next line with that event
 * name contains the count. Therefore the log stays readable during a lasting fault, such as Redis being away or a broker's
 * disk being full.
 */
export class ThrottledLog {
  readonly #last = new Map<string, { at: number; dropped: number }>();

  constructor(
    private readonly log: Log,
    private readonly everyMs = 5_000,
  ) {}

  warn(event: string, message: string, fields?: LogFields): void {
    this.#say('warn', event, message, fields);
  }

  info(event: string, message: string, fields?: LogFields): void {
    this.#say('info', event, message, fields);
  }

  #say(level: 'warn' | 'info', event: string, message: string, fields?: LogFields): void {
    const now = performance.now(); // monotonic: the host's clock may be set back
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
