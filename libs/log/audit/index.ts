// Owns the records of `relay.operations`: the changes that operators and partners are about to make, or have made.
// Guarantees that a change is refused while Kafka does not take its record, and that a record holds no payload or credential.
// Leaves to the callers which changes are reported.
import { operationsRecord, operationsTopic, type OperationsEvent } from '@relay/events';
import { unavailable } from '@relay/problem';
import type { Publisher } from '@relay/publishing';

/** A change by an operator, or by a partner to its own webhooks and deliveries: ids and counts, never a payload or credential. */
export type ReportedChange = {
  readonly event: OperationsEvent;
  readonly [fact: string]: unknown;
} & AskedBy;

/** A partner; `operator` made the portal link through which the request came, if an operator made it. */
export interface AskingPartner {
  readonly partnerId: string;
  readonly operator?: string;
  readonly requestId?: string;
}

/** A partner, an operator, or `relay admin`. */
export type AskedBy = AskingPartner | { readonly operator: string; readonly requestId?: string };

export class Audit {
  constructor(
    private readonly publisher: Publisher,
    private readonly topicPrefix: string,
    private readonly now: () => number,
  ) {}

  /**
   * Resolves when Kafka has stored the record. Callers report before they change anything, so no change goes unreported.
   * @throws ProblemError `unavailable` when Kafka does not take the record
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
