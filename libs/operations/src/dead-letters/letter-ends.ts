import { deadLettersTopic } from '@relay/events';
import { ProblemError } from '@relay/problem';
import type { Publisher } from '@relay/publishing';
import type { LetterEnd } from '@relay/retry';

/** Tells on `relay.dead-letters` which letters an operator ends, so that a recovery does not bring them back. */
export class LetterEnds {
  constructor(
    private readonly publisher: Publisher,
    private readonly topicPrefix: string,
  ) {}

  /**
   * Resolves when Kafka has them; called before the letters go. Told and not done is harmless: the letter stays until it is.
   * @throws ProblemError `unavailable` when Kafka does not take them
   */
  async tell(ends: readonly LetterEnd[]): Promise<void> {
    const topic = deadLettersTopic(this.topicPrefix);
    const headers = { 'content-type': 'application/json' };
    const records = ends.map((end) => ({
      topic,
      key: end.deliveryId,
      value: Buffer.from(JSON.stringify(end)),
      headers,
    }));
    await Promise.all(records.map((record) => this.publisher.publish(record))).catch((cause: unknown) => {
      throw new ProblemError('unavailable', 'Kafka cannot be told of the change at the moment: repeat it later.', {
        headers: { 'retry-after': '5' },
        cause,
      });
    });
  }
}
