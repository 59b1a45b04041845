import { QUEUE_SHARDS } from '@relay/jobs';
import { Inject, Injectable } from '@nestjs/common';
import { Audit, type AskingPartner } from '@relay/audit';
import { DeadLetterEndings, DeadLetterReader, DeadLetterService } from '@relay/dead-letters';
import { parseDeliveryId } from '@relay/delivery';
import { Publisher } from '@relay/publishing';
import type { Shards } from '@relay/redis';
import { BullmqRetryQueue, PendingDeliveries } from '@relay/retry';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { WebhookStore } from '@relay/webhooks';
import { cursorOf, DeliveryLists, LOOKED_AT, placeOf, timeOf, type Entry } from './delivery-lists.js';
import { HistoryQuota } from './own-webhooks.js';
import type { RetrySelection, SelectionRetried } from './history.openapi.js';

/** A delivery that waits or is a dead letter. */
interface Retryable {
  readonly id: string;
  readonly webhookId: string;
  readonly isDead: boolean;
}

/** The result of a retry: the deliveries that are due now, and the reasons why others were refused. */
type Retried = Pick<SelectionRetried, 'retried' | 'refused'>;
type Refused = Retried['refused'][number];

const DISABLED = 'Its webhook is disabled: enable it first.';

/**
 * Makes waiting deliveries due now and replays dead letters. The caller first checks that the webhooks belong to the
 * partner.
 */
@Injectable()
export class DeliveryRetries {
  readonly #letters: DeadLetterReader;
  readonly #queue: BullmqRetryQueue;
  readonly #endings: DeadLetterEndings;
  readonly #audit: Audit;

  constructor(
    @Inject(WebhookStore) private readonly webhooks: Pick<WebhookStore, 'find'>,
    private readonly jobs: PendingDeliveries,
    @Inject(QUEUE_SHARDS) queueShards: Shards,
    publisher: Publisher,
    @Inject(INGRESS_CONFIG) { KAFKA_TOPIC_PREFIX: prefix }: Pick<IngressConfig, 'KAFKA_TOPIC_PREFIX'>,
  ) {
    this.#letters = new DeadLetterReader(queueShards);
    this.#queue = new BullmqRetryQueue(queueShards);
    this.#endings = new DeadLetterEndings(publisher, prefix);
    this.#audit = new Audit(publisher, prefix, Date.now);
  }

  /**
   * Retries the deliveries of an envelope to these webhooks.
   * @param charge is called with the number of deliveries before any delivery is changed
   * @throws ProblemError `unavailable` if Kafka does not take the report, and any error of `charge`
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

  /** @throws ProblemError `unavailable` if Kafka does not take the report */
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
    await this.#audit.report({ event: 'delivery.retried', ...by, deliveries: meant.map(({ id }) => id) });
    const dead = meant.filter(({ isDead }) => isDead).map(({ id }) => id);
    const report = await this.#lettersOf(partnerId).replayLetters(dead);
    let retried = report.deliveries;
    for (const { id, isDead } of meant) if (!isDead && (await this.jobs.hasten(id))) retried += 1;
    return { retried, refused: [...refused, ...report.refused.map(({ id, why }) => refusedOf(id, why))] };
  }

  /** @param partnerId owns all webhooks whose dead letters are replayed. These webhooks still exist */
  #lettersOf(partnerId: string): DeadLetterService {
    const webhooks = { find: () => ({ partnerId }), matching: () => [] };
    return new DeadLetterService(this.#letters, this.#queue, webhooks, this.#endings, Date.now);
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

/** Maximum number of deliveries that one call retries. It is limited because one audit record contains their ids. */
const AT_ONCE = 100;
/** Number of retries for one point of the quota. */
export const RETRIES_A_POINT = 10;

/** Retries the deliveries that a filter selects, newest first. Each call retries a part of them. */
@Injectable()
export class BulkRetry {
  constructor(
    private readonly lists: DeliveryLists,
    private readonly retries: DeliveryRetries,
    private readonly quota: HistoryQuota,
  ) {}

  /** @throws ProblemError `too-many-requests` before any delivery is changed, and the errors of `DeliveryRetries` */
  async retry(
    by: AskingPartner,
    webhookIds: readonly string[],
    { status, since, until, httpStatus, error, dryRun, cursor }: RetrySelection,
  ): Promise<SelectionRetried> {
    const end = timeOf(until) ?? Date.now();
    const filter = { statuses: [status], since: timeOf(since), until: end, httpStatus, error };
    const after = cursor === undefined ? undefined : placeOf(cursor);
    const { entries, next } = await this.lists.page(webhookIds, filter, after, dryRun ? LOOKED_AT : AT_ONCE);
    const found = {
      matched: entries.length,
      cursor: next === undefined ? null : cursorOf(next),
      until: new Date(end).toISOString(),
    };
    if (dryRun) return { ...found, retried: 0, refused: [] };
    await this.quota.admit(by.partnerId, Math.ceil(entries.length / RETRIES_A_POINT));
    const { retried, refused } = await this.retries.retry(by, entries.flatMap(retryableOf));
    return { ...found, retried, refused };
  }
}

const retryableOf = ({ place, facts: { webhookId, status } }: Entry): Retryable[] =>
  'id' in place ? [{ id: place.id, webhookId, isDead: status === 'dead' }] : [];
