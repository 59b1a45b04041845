import { deadLettersTopic } from '@relay/events';
import { ProblemError } from '@relay/problem';
import type { Publisher } from '@relay/publishing';
import type { DeadLetterEnding } from './dead-letter.js';

/** Writes to `relay.dead-letters` which dead letters an operator ends, so that a recovery does not bring them back. */
export class DeadLetterEndings {
  constructor(
    private readonly publisher: Publisher,
    private readonly topicPrefix: string,
  ) {}

  /**
   * Resolves when Kafka has the records; to be called before the dead letters are removed. If a reported ending is not carried
   * out, the dead letter stays until it is.
   * @param before how many dead letters the same change has ended already
   * @throws ProblemError `unavailable` when Kafka does not take the records: these dead letters stay
   */
  async report(endings: readonly DeadLetterEnding[], before: number): Promise<void> {
    const topic = deadLettersTopic(this.topicPrefix);
    const headers = { 'content-type': 'application/json' };
    const published = endings.map((ending) =>
      this.publisher.publish({ topic, key: ending.deliveryId, value: Buffer.from(JSON.stringify(ending)), headers }),
    );
    await Promise.all(published).catch((cause: unknown) => {
      const done = before === 0 ? 'nothing was changed' : `the change was made for ${before}, the others are unchanged`;
      throw new ProblemError(
        'unavailable',
        `Kafka did not store the record of the change: ${done}; repeat the request later.`,
        { headers: { 'retry-after': '5' }, cause },
      );
    });
  }
}
