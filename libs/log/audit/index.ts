// Owns the records of `relay.operations` about changes that operators and partners are about to make, or have made.
// Guarantees that a change is refused if Kafka does not store its record, and that no record contains a payload or a
// credential. Leaves to its users which changes are reported.
import { operationsRecord, operationsTopic, type OperationsEvent } from '@relay/events';
import { unavailable } from '@relay/problem';
import type { Publisher } from '@relay/publishing';

/**
 * A change that an operator makes, or that a partner makes to its own webhooks and deliveries. It contains ids and counts,
 * but never a payload or credential.
 */
export type ReportedChange = {
  readonly event: OperationsEvent;
  readonly [fact: string]: unknown;
} & AskedBy;

/** A partner that asks for a change. `operator` is set if the request came through a portal link that an operator made. */
export interface AskingPartner {
  readonly partnerId: string;
  readonly operator?: string;
  readonly requestId?: string;
}

/** The asker of a change: a partner, an operator, or `relay admin`. */
export type AskedBy = AskingPartner | { readonly operator: string; readonly requestId?: string };

export class Audit {
  constructor(
    private readonly publisher: Publisher,
    private readonly topicPrefix: string,
    private readonly now: () => number,
  ) {}

  /**
   * Resolves as soon as Kafka has stored the record. Callers report a change before they make it, so every change has a
   * record.
   * @throws ProblemError `unavailable` if Kafka does not store the record
   */
  async report(change: ReportedChange): Promise<void> {
    const { event, ...facts } = change;
    const record = {
      topic: operationsTopic(this.topicPrefix),
      key: String(change['operator'] ?? change['partnerId']),
      value: Buffer.from(JSON.stringify(operationsRecord(event, facts, this.now()))),
      headers: { 'content-type': 'application/json' },
    };
    await this.publisher.publish(record).catch((cause: unknown) => {
      throw unavailable('Kafka did not store the record of the change: nothing was changed.', 5, cause);
    });
  }
}
