/** One command as the log holds it. */
export interface LoggedCommand {
  readonly offset: number;
  readonly value: Buffer;
}

/** The log of all changes of clients and webhooks: one order, kept until a snapshot stands for what is older. */
export abstract class RegistryLog {
  /** Tells this log from that of another deployment: its topic. */
  abstract readonly name: string;

  /**
   * Resolves when every in-sync replica has the command. It may be stored twice, and after a rejection once.
   * @returns its offset; undefined when the log did not tell it
   * @throws PublishFailed within 10 s
   */
  abstract append(id: string, value: Buffer): Promise<number | undefined>;

  /** Offset of the first command there is, and the one after the last, asked now. Rejects within 10 s. */
  abstract bounds(): Promise<{ readonly start: number; readonly end: number }>;

  /**
   * Hands out the commands from one offset to before another, in their order, in slices; waits for each `take`. Where the first
   * are gone, also meanwhile, it begins with those there are: the taker compares the offsets.
   */
  abstract read(from: number, end: number, take: (commands: readonly LoggedCommand[]) => Promise<void>): Promise<void>;

  /** Lets the commands before an offset go, for good. `not-permitted`: the brokers do not let this client. */
  abstract deleteBefore(offset: number): Promise<'deleted' | 'not-permitted'>;
}
