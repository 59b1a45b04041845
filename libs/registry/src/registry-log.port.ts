/** One command as the log holds it. */
export interface LoggedCommand {
  readonly offset: number;
  readonly value: Buffer;
}

/** The log of all changes of clients and webhooks: one order, kept for ever. */
export abstract class RegistryLog {
  /**
   * Resolves when every in-sync replica has the command. It may be stored twice, and after a rejection once.
   * @returns its offset; undefined when the log did not tell it
   * @throws PublishFailed within 10 s
   */
  abstract append(id: string, value: Buffer): Promise<number | undefined>;

  /** Offset of the first command there is, and the one after the last, asked now. Rejects within 10 s. */
  abstract bounds(): Promise<{ readonly start: number; readonly end: number }>;

  /** Hands out the commands from one offset to before another, in their order, in slices; waits for each `take`. */
  abstract read(from: number, end: number, take: (commands: readonly LoggedCommand[]) => Promise<void>): Promise<void>;
}
