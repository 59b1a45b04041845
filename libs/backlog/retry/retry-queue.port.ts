import type { DeadLetter } from '@relay/dead-letters';
import type { QueuedDelivery } from '@relay/jobs';

/**
 * The queues of deliveries that failed, wait or exceed their endpoint's share, and of dead letters. A delivery is settled only
 * when its call has resolved. Adding a stored id again changes nothing. An id names one acceptance, so a stored delivery of an
 * earlier acceptance does not prevent the add.
 */
export abstract class RetryQueue {
  /** Resolves when the delivery is stored; waits while the store is away. */
  abstract add(delivery: QueuedDelivery): Promise<void>;
  /** Stores a dead letter; resolves as `add` does. */
  abstract addDeadLetter(letter: DeadLetter): Promise<void>;
  /** Returns which of these job ids are queued or dead. */
  abstract existing(ids: readonly string[]): Promise<Set<string>>;
  /** Removes dead letters older than this. @returns how many */
  abstract purge(olderThanMs: number): Promise<number>;
  abstract close(): Promise<void>;
}
