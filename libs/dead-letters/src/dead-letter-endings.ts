import { deadLettersTopic } from '@relay/events';
import { ProblemError } from '@relay/problem';
import type { Publisher } from '@relay/publishing';
import type { LetterEnd } from './dead-letter-ending.js';

/** Tells on `relay.dead-letters` which letters an operator ends, so that a recovery does not bring them back. */
export class LetterEnds {
  constructor(
    private readonly publisher: Publisher,
    private readonly topicPrefix: string,
  ) {}

  /**
   * Resolves when Kafka has them; called before the letters go. Told and not done is harmless: the letter stays until it is.
   * @param before how many letters the same change has ended already
   * @throws ProblemError `unavailable` when Kafka does not take them: these letters stay
   */
  async tell(ends: readonly LetterEnd[], before: number): Promise<void> {
    const topic = deadLettersTopic(this.topicPrefix);
    const headers = { 'content-type': 'application/json' };
    const records = ends.map((end) => ({
      topic,
      key: end.deliveryId,
      value: Buffer.from(JSON.stringify(end)),
      headers,
    }));
    await Promise.all(records.map((record) => this.publisher.publish(record))).catch((cause: unknown) => {
      const done = before === 0 ? 'nothing was changed' : `it was made for ${before}, and the others are as they were`;
      throw new ProblemError(
        'unavailable',
        `Kafka cannot be told of the change at the moment: ${done}; repeat it later.`,
        {
          headers: { 'retry-after': '5' },
          cause,
        },
      );
    });
  }
}
