import type { AskingPartner, Audit } from '@relay/audit';
import type { DeadLetterService } from '@relay/dead-letters';
import { parseDeliveryId } from '@relay/delivery';
import type { PendingDeliveries } from '@relay/retry';
import type { WebhookStore } from '@relay/webhooks';

/** A delivery that waits or is dead. */
export interface Retryable {
  readonly id: string;
  readonly webhookId: string;
  readonly isDead: boolean;
}

/** The result of a retry: deliveries now due, and why others are not. */
export interface Retried {
  readonly retried: number;
  readonly refused: readonly Refused[];
}

export interface Refused {
  readonly envelopeId: string;
  readonly webhookId: string;
  readonly why: string;
}

const DISABLED = 'Its webhook is disabled: enable it first.';

/** Makes waiting deliveries due now and restarts dead letters. Callers check the owner of the webhooks first. */
export class DeliveryRetries {
  constructor(
    private readonly webhooks: Pick<WebhookStore, 'find'>,
    private readonly jobs: Pick<PendingDeliveries, 'ofEnvelope' | 'hasten'>,
    private readonly letters: (partnerId: string) => Pick<DeadLetterService, 'replayLetters'>,
    private readonly audit: Pick<Audit, 'report'>,
  ) {}

  /**
   * Retries the deliveries of an envelope to these webhooks.
   * @param charge called with the number of deliveries before any is changed
   * @throws ProblemError `unavailable` when Kafka does not take the report, and whatever `charge` throws
   */
  async ofEnvelope(
    by: AskingPartner,
    envelopeId: string,
    webhookIds: ReadonlySet<string>,
    charge: (found: number) => Promise<void>,
  ): Promise<Retried> {
    const found = await this.jobs.ofEnvelope(envelopeId, webhookIds);
    if (found.length > 0) await charge(found.length);
    const meant = found.map(({ id, job, letter }) => ({ id, webhookId: job.webhookId, isDead: letter !== undefined }));
    return this.retry(by, meant);
  }

  /** @throws ProblemError `unavailable` when Kafka does not take the report */
  async retry(by: AskingPartner, found: readonly Retryable[]): Promise<Retried> {
    const { partnerId } = by;
    const refused: Refused[] = [];
    const meant: Retryable[] = [];
    const statuses = await this.#statuses(partnerId, new Set(found.map(({ webhookId }) => webhookId)));
    for (const each of found) {
      const status = statuses.get(each.webhookId);
      if (status === 'disabled') refused.push(refusedOf(each.id, DISABLED));
      else if (status !== undefined) meant.push(each);
    }
    if (meant.length === 0) return { retried: 0, refused };
    await this.audit.report({ event: 'delivery.retried', ...by, deliveries: meant.map(({ id }) => id) });
    const dead = meant.filter(({ isDead }) => isDead).map(({ id }) => id);
    const report = await this.letters(partnerId).replayLetters(dead);
    let retried = report.deliveries;
    for (const { id, isDead } of meant) if (!isDead && (await this.jobs.hasten(id))) retried += 1;
    return { retried, refused: [...refused, ...report.refused.map(({ id, why }) => refusedOf(id, why))] };
  }

  async #statuses(partnerId: string, ids: ReadonlySet<string>): Promise<Map<string, string>> {
    const found = await Promise.all([...ids].map((id) => this.webhooks.find(partnerId, id)));
    return new Map(found.flatMap((each) => (each === undefined ? [] : [[each.details.id, each.details.status]])));
  }
}

function refusedOf(id: string, why: string): Refused {
  const { envelopeId = '', webhookId = '' } = parseDeliveryId(id) ?? {};
  return { envelopeId, webhookId, why };
}
