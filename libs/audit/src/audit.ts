import { operationsRecord, operationsTopic, type OperationsEvent } from '@relay/events';
import { ProblemError } from '@relay/problem';
import type { Publisher } from '@relay/publishing';

/** What an operator, or a partner with what is its own, is about to do or has done; ids and counts, never a payload or credential. */
export type ToldChange = {
  readonly event: OperationsEvent;
  readonly [fact: string]: unknown;
} & (
  | { /** Client id, or the command of the command line. */ readonly operator: string }
  | { /** Client id. */ readonly partnerId: string }
);

/** Tells every change on `relay.operations`, where other teams and an auditor read it. */
export class Audit {
  constructor(
    private readonly publisher: Publisher,
    private readonly topicPrefix: string,
    private readonly now: () => number,
  ) {}

  /**
   * Resolves when Kafka has it; called before the change, so that there is none which nobody was told of.
   * @throws ProblemError `unavailable` when Kafka does not take it
   */
  async tell(change: ToldChange): Promise<void> {
    const { event, ...facts } = change;
    const record = {
      topic: operationsTopic(this.topicPrefix),
      key: String('operator' in change ? change.operator : change.partnerId),
      value: Buffer.from(JSON.stringify(operationsRecord(event, facts, this.now()))),
      headers: { 'content-type': 'application/json' },
    };
    await this.publisher.publish(record).catch((cause: unknown) => {
      throw new ProblemError('unavailable', 'Kafka cannot be told of the change at the moment: nothing was changed.', {
        headers: { 'retry-after': '5' },
        cause,
      });
    });
  }
}
