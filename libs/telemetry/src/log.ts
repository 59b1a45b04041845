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
