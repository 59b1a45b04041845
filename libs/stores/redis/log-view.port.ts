/**
 * A part of Redis that is a view of a log. Only commands change it, and each is in the log before it is applied, so that the log
 * restores whatever Redis loses.
 */
export interface LogView<Command> {
  /** Resolves once the view shows every command that the log held when this connection was made. Rejects while it cannot. */
  current(): Promise<void>;
  /** Applies every command in the log; for a reader that finds that Redis went back in time without a new connection. */
  catchUp(): Promise<void>;
  /** Resolves once the view shows every command in the log. Rejects while it cannot. */
  settled(): Promise<void>;
  /** Appends the command, applies it and returns its result. Rejects when the result is unknown. */
  change(command: Command): Promise<unknown>;
}

/** A key of a view that a snapshot of the log restores. The scripts of the view rebuild its other keys from these. */
export interface ViewPart {
  /** Its name in snapshots. It stands in logs, so it never changes. */
  readonly name: string;
  readonly key: string;
  readonly kind: 'hash' | 'sorted set' | 'string';
}

/** A change was not confirmed, or the view in Redis may be out of date; another try may succeed. */
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
