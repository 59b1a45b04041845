export interface LoggedCommand {
  readonly offset: number;
  readonly value: Buffer;
}

/**
 * The log of all changes of clients, webhooks, encryption keys and event types, in one order. A snapshot can replace older
 * records.
 */
export abstract class RegistryLog {
  abstract readonly name: string;

  abstract readonly group: string;

  /** Id of the Kafka cluster that has this log; null if the brokers report no id. Rejects after at most 10 s. */
  abstract cluster(): Promise<string | null>;

  /**
   * Resolves when every in-sync replica has the command. The log may then have the command twice. After a rejection, the log
   * may have the command nevertheless.
   * @returns the offset of the command; undefined if the broker did not report it
   * @throws PublishFailed after at most 10 s
   */
  abstract append(id: string, value: Buffer): Promise<number | undefined>;

  /**
   * Returns the offset of the first command in the log, and the offset after the last command. Rejects after at most 10 s.
   */
  abstract bounds(): Promise<{ readonly start: number; readonly end: number }>;

  /**
   * Reads the commands from the offset `from` on and before the offset `end`, in order and in slices, and waits for each
   * `take`. If the first commands were deleted, even during the read, it begins with the first command that is left. So the
   * caller must compare the offsets.
   */
  abstract read(from: number, end: number, take: (commands: readonly LoggedCommand[]) => Promise<void>): Promise<void>;

  /**
   * Called when Redis is claimed for the deployment with this log. From then on, the log writes to no other cluster.
   * @param _cluster null if the cluster has no id; the log may then write to any cluster
   */
  claimed(_cluster: string | null): void {}

  /** Deletes the commands before an offset. `not-permitted`: this client has no right to delete them. */
  abstract deleteBefore(offset: number): Promise<'deleted' | 'not-permitted'>;
}
