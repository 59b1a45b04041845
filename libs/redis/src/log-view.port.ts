/**
 * A part of Redis that is a view of a log: what is kept there is changed only by commands, each of which is in the log
 * before it is applied here. So whatever Redis forgets is brought back from the log.
 */
export interface LogView<Command> {
  /** Resolves once Redis shows all that the log held when this connection to it was made. Rejects while it cannot. */
  current(): Promise<void>;
  /** Applies what the log holds by now; for whoever finds that Redis went back in time on a connection that stayed. */
  catchUp(): Promise<void>;
  /** Resolves once what is kept here shows all that the log holds by now. Rejects while it cannot. */
  settled(): Promise<void>;
  /** Appends the command and applies it. Answers what applying it showed; rejects when that is not known. */
  change(command: Command): Promise<unknown>;
}

/**
 * A key that belongs to what a view shows and that a snapshot of the log must bring back as it was: everything of the view but
 * what its scripts make anew from these.
 */
export interface ViewPart {
  /** Its name in snapshots: it is in logs, so it stays. */
  readonly name: string;
  readonly key: string;
  readonly kind: 'hash' | 'sorted set' | 'string';
}
