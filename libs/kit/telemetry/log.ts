/** Values a log line may carry: ids, counts, reasons. Never payloads, credentials or tokens. */
export type LogFields = Readonly<
  Record<string, string | number | boolean | null | undefined | readonly (string | number)[]>
>;

/**
 * The log of a process, injected by this class. `event` is a stable word to search for (`envelope.accepted`,
 * `delivery.retried`); the message tells the person on duty what happened and what the relay does about it.
 * Levels: error = someone must act; warn = the relay repeats by itself; info = a state changed.
 */
export abstract class Log {
  abstract error(event: string, message: string, fields?: LogFields): void;
  abstract warn(event: string, message: string, fields?: LogFields): void;
  abstract info(event: string, message: string, fields?: LogFields): void;
  abstract debug(event: string, message: string, fields?: LogFields): void;
}

/** The message of a thrown value of unknown type, without a stack. */
export const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message || error.name : String(error);

/**
 * Writes one line of an event word per interval and counts the others, so that a lasting fault (Redis away, a full disk at the
 * broker) leaves the log readable. The next line has the count.
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
