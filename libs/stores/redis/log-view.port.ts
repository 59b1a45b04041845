/**
 * A part of Redis that is a view of a log. Only commands change it, and each command is in the log before it is applied. So
 * the log can restore everything that Redis loses.
 */
export interface LogView<Command> {
  /**
   * Resolves when the view shows every command that the log had when this connection was made. Rejects if the log or Redis
   * cannot be read.
   */
  current(): Promise<void>;
  /** Applies every command in the log. A reader calls it if Redis has lost its latest writes without a new connection. */
  catchUp(): Promise<void>;
  /** Resolves when the view shows every command in the log. Rejects if the log or Redis cannot be read. */
  settled(): Promise<void>;
  /** Appends the command, applies it and returns its result. Rejects if the result is unknown. */
  change(command: Command): Promise<unknown>;
}

/** A key of a view that a snapshot of the log restores. The scripts of the view rebuild its other keys from these. */
export interface ViewPart {
  /** Name of the part in snapshots. It never changes, because it is stored in logs. */
  readonly name: string;
  readonly key: string;
  readonly kind: 'hash' | 'sorted set' | 'string';
}

/** A change was not confirmed, or the view in Redis may be out of date. Another try may succeed. */
export class RegistryUnavailable extends Error {
  override readonly name = 'RegistryUnavailable';

  /** @param mayBeStored whether the change may still take effect */
  constructor(
    message: string,
    readonly mayBeStored: boolean,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}
