export interface LoggedCommand {
  readonly offset: number;
  readonly value: Buffer;
}

/** The log of all changes of clients and webhooks, in one order; a snapshot can replace older records. */
export abstract class RegistryLog {
  abstract readonly name: string;

  abstract readonly group: string;

  /** Id of the Kafka cluster that has this log; null when its brokers report none. Rejects within 10 s. */
  abstract cluster(): Promise<string | null>;

  /**
   * Resolves when every in-sync replica has the command. It may be stored twice, and after a rejection once.
   * @returns its offset; undefined when the log did not report it
   * @throws PublishFailed within 10 s
   */
  abstract append(id: string, value: Buffer): Promise<number | undefined>;

  /** Offset of the first command in the log, and the one after the last, as of now. Rejects within 10 s. */
  abstract bounds(): Promise<{ readonly start: number; readonly end: number }>;

  /**
   * Reads the commands from one offset to before another, in order and in slices, and waits for each `take`. When the first ones are
   * deleted, also during the read, it begins with the first that is left: the caller compares the offsets.
   */
  abstract read(from: number, end: number, take: (commands: readonly LoggedCommand[]) => Promise<void>): Promise<void>;

  /** This cluster is that of the deployment: what is written from now on goes to no other. @param _cluster null when it has no id */
  claimed(_cluster: string | null): void {}

  /** Deletes the commands before an offset. `not-permitted`: the brokers refuse it to this client. */
  abstract deleteBefore(offset: number): Promise<'deleted' | 'not-permitted'>;
}
