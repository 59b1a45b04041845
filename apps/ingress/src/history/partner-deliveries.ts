import type { Audit } from '@relay/audit';
import type { DeadLetterService } from '@relay/dead-letters';
import type { RedisDeliveryHistory } from '@relay/history';
import type { PendingDeliveries, PendingDelivery } from '@relay/retry';
import type { WebhookStore } from '@relay/webhooks';
import { deliveredFacts, unsettledFacts, type DeliveryAnswer } from './delivery-facts.js';
import { placeOf, type HistoryQuery, type Place } from './history-query.js';

/** `next` is set when more deliveries follow. */
export interface DeliveryPage {
  readonly deliveries: readonly DeliveryAnswer[];
  readonly next?: Place;
}

interface Entry {
  readonly place: Place;
  readonly answer: DeliveryAnswer;
}

/** The result of a retry: deliveries now due, and why others are not. */
export interface Retried {
  readonly retried: number;
  readonly refused: readonly string[];
}

/**
 * The state of deliveries: from the queues until they settle, from the history afterwards. Callers check the owner of
 * the webhooks first.
 */
export class PartnerDeliveries {
  constructor(
    private readonly webhooks: Pick<WebhookStore, 'find'>,
    private readonly history: RedisDeliveryHistory,
    private readonly jobs: PendingDeliveries,
    private readonly letters: (partnerId: string) => Pick<DeadLetterService, 'replayLetters'>,
    private readonly audit: Pick<Audit, 'report'>,
  ) {}

  /** Newest first. The queues are read first: a delivery that settles meanwhile is then in the history. */
  async ofWebhook(webhookId: string, query: HistoryQuery): Promise<DeliveryPage> {
    const { status, limit } = query;
    const after = query.cursor === undefined ? undefined : placeOf(query.cursor);
    const [since, until] = [query.since, query.until].map((text) =>
      text === undefined ? undefined : Date.parse(text),
    );
    // Within a millisecond no unsettled delivery follows a delivered one; all delivered ones follow an unsettled one.
    const ofPending =
      after === undefined
        ? { since, until }
        : 'id' in after
          ? { since, until, before: after }
          : { since, until: Math.min(until ?? Infinity, after.at) };
    const ofDelivered =
      after === undefined
        ? { since, until }
        : 'id' in after
          ? { since, until: Math.min(until ?? Infinity, after.at + 1) }
          : { since, until, before: { endedAt: after.at, place: after.place } };

    const wants = (one: DeliveryAnswer['status']): boolean => status === undefined || status === one;
    const waiting = wants('waiting') ? await this.jobs.waiting(webhookId) : [];
    const dead = wants('dead') ? await this.jobs.dead(webhookId, ofPending, limit + 1) : [];
    const delivered = wants('delivered') ? await this.history.ofWebhook(webhookId, ofDelivered, limit + 1) : [];
    const unsettled = [...waiting, ...dead].map((each): Entry => {
      const answer = unsettledFacts(each);
      return { place: { at: Date.parse(answer.at), id: each.id }, answer };
    });
    const entries = [
      ...unsettled.filter(
        ({ place }) =>
          place.at >= (since ?? 0) &&
          place.at < (ofPending.until ?? Infinity) &&
          (after === undefined || compare(after, place) < 0),
      ),
      ...delivered.map((line): Entry => ({
        place: { at: line.endedAt, place: line.place },
        answer: deliveredFacts(line),
      })),
    ].toSorted((a, b) => compare(a.place, b.place));
    const page = entries.slice(0, limit);
    const last = page.at(-1);
    return {
      deliveries: page.map(({ answer }) => answer),
      ...(entries.length > limit && last !== undefined ? { next: last.place } : {}),
    };
  }

  /** Newest first. */
  async ofEnvelope(envelopeId: string, webhookIds: ReadonlySet<string>): Promise<DeliveryAnswer[]> {
    const unsettled = await this.jobs.ofEnvelope(envelopeId, webhookIds);
    const delivered = await this.history.ofEnvelope(envelopeId, [...webhookIds]);
    return [...unsettled.map(unsettledFacts), ...delivered.map(deliveredFacts)].toSorted((a, b) =>
      b.at.localeCompare(a.at),
    );
  }

  /**
   * Makes waiting deliveries due now and restarts dead letters.
   * @param charge called with the number of deliveries before any is changed
   * @throws ProblemError `unavailable` when Kafka does not take the report, and whatever `charge` throws
   */
  async retry(
    partnerId: string,
    envelopeId: string,
    webhookIds: ReadonlySet<string>,
    charge: (found: number) => Promise<void>,
  ): Promise<Retried> {
    const found = await this.jobs.ofEnvelope(envelopeId, webhookIds);
    if (found.length === 0) return { retried: 0, refused: [] };
    await charge(found.length);
    const refused: string[] = [];
    const meant: PendingDelivery[] = [];
    for (const each of found) {
      const webhook = await this.webhooks.find(partnerId, each.job.webhookId);
      if (webhook?.details.status === 'disabled') refused.push('Its webhook is disabled: enable it first.');
      else if (webhook !== undefined) meant.push(each);
    }
    if (meant.length === 0) return { retried: 0, refused };
    await this.audit.report({ event: 'delivery.retried', partnerId, deliveries: meant.map(({ id }) => id) });
    const dead = meant.filter(({ letter }) => letter !== undefined).map(({ id }) => id);
    const report = await this.letters(partnerId).replayLetters(dead);
    let retried = report.deliveries;
    for (const { id, letter } of meant) if (letter === undefined && (await this.jobs.hasten(id))) retried += 1;
    return { retried, refused: [...refused, ...report.refused.map(({ why }) => why)] };
  }
}

/** Negative when the first comes before the second. */
function compare(a: Place, b: Place): number {
  if (a.at !== b.at) return b.at - a.at;
  if ('id' in a) return 'id' in b ? (a.id > b.id ? -1 : a.id < b.id ? 1 : 0) : -1;
  return 'id' in b ? 1 : b.place - a.place;
}
