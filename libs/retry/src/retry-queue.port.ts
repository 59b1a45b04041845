import type { DeadLetter, DeadLetterQueue } from '@relay/dead-letters';
import type { DeliveryQueue, QueuedDelivery } from '@relay/jobs';

/**
 * The queue of trouble: deliveries that failed, wait or exceed their endpoint's share, and the dead letters.
 * A delivery is settled only when its call here has resolved. Adding an id that is already there changes nothing.
 */
export abstract class RetryQueue implements DeadLetterQueue, DeliveryQueue {
  /** Resolves when the delivery is stored; waits for the store when it is away. */
  abstract add(delivery: QueuedDelivery): Promise<void>;
  /** Stores a dead letter; resolves as `add` does. */
  abstract addDeadLetter(letter: DeadLetter): Promise<void>;
  /** Which of these job ids are queued or dead. */
  abstract existing(ids: readonly string[]): Promise<Set<string>>;
  /** Drops dead letters older than this; returns how many. */
  abstract purge(olderThanMs: number): Promise<number>;
  abstract close(): Promise<void>;
}
