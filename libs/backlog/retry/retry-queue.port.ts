import type { DeadLetter } from '@relay/dead-letters';
import type { QueuedDelivery } from '@relay/jobs';

/**
 * The queue of deliveries that failed, have to wait or exceed the share of their endpoint, and the queue of dead letters. A
 * delivery is safely stored only after the call has resolved. Adding an id that is already stored has no effect. Every
 * acceptance of an envelope leads to new ids, so a stored delivery of an earlier acceptance does not prevent an add.
 */
export abstract class RetryQueue {
  /** Resolves when the delivery is stored. Waits while Redis is unavailable. */
  abstract add(delivery: QueuedDelivery): Promise<void>;
  /** Stores a dead letter. Like `add`, resolves when it is stored and waits while Redis is unavailable. */
  abstract addDeadLetter(letter: DeadLetter): Promise<void>;
  /** Returns the ids that are in the queue of deliveries or are dead letters. */
  abstract existing(ids: readonly string[]): Promise<Set<string>>;
  /** Removes dead letters that are older than this. @returns how many were removed */
  abstract purge(olderThanMs: number): Promise<number>;
  abstract close(): Promise<void>;
}
