import { setTimeout as delay } from 'node:timers/promises';
import {
  isNoticeType,
  noticesTopic,
  noticeText,
  readNotice,
  recordHeaders,
  type NoticeFacts,
  type NoticeType,
} from '@relay/events';
import { type OutgoingRecord, type Publisher, PublishFailed } from '@relay/publishing';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import { HOUR_MS, noticeId } from './notice-id.js';

/** Owns the webhooks of notices that operators add; no client has this id. They get the notices about every webhook. */
export const OPERATORS = 'operators';

/** The webhook that a notice is about. */
export interface NoticeSubject {
  readonly id: string;
  readonly partnerId: string;
  readonly eventType: string;
  readonly origin: string;
}

const TRIES = 4;
const PAUSE_MS = 2_000;
/** Notices that wait for Kafka at once; further ones are lost. */
const MAX_WAITING = 1_000;
/** Ids that are remembered. A notice beyond them may be told again, and is then dropped by its seen mark. */
const MAX_TOLD = 10_000;

/** Tells partners what became of their webhooks. */
export class Notices {
  /** The ids of the notices of the latest hour. */
  readonly #told = new Set<string>();
  #hour = 0;
  #waiting = 0;

  constructor(
    private readonly publisher: Pick<Publisher, 'publish'>,
    private readonly topicPrefix: string,
    private readonly log: Pick<ThrottledLog, 'warn'>,
    private readonly now: () => number = Date.now,
    private readonly pauseMs = PAUSE_MS,
  ) {}

  /**
   * Resolves when Kafka has the notice, or will not get it. Never rejects: what the notice is about has happened.
   * @param at when it happened, for a fact that several processes may find
   */
  async tell<T extends NoticeType>(
    type: T,
    webhook: NoticeSubject,
    facts: NoticeFacts<T>,
    at = this.now(),
  ): Promise<void> {
    if (isNoticeType(webhook.eventType)) return;
    const id = noticeId(type, webhook.id, at);
    if (this.#told.has(id)) return;
    this.#remember(id, at);
    const reason = await this.#sent({ id, type, payload: payloadOf(type, webhook, facts, at) }, webhook.partnerId);
    if (reason === undefined) return;
    this.#told.delete(id);
    this.log.warn(
      'notice.lost',
      'Kafka did not take a notice to a partner; what it is about has happened all the same',
      {
        type,
        webhookId: webhook.id,
        partnerId: webhook.partnerId,
        reason,
      },
    );
  }

  #remember(id: string, at: number): void {
    const hour = Math.floor(at / HOUR_MS);
    if (hour > this.#hour || this.#told.size >= MAX_TOLD) this.#told.clear();
    this.#hour = Math.max(hour, this.#hour);
    this.#told.add(id);
  }

  /** @returns why it was not sent */
  async #sent(notice: object, partnerId: string): Promise<string | undefined> {
    if (this.#waiting >= MAX_WAITING) return `${MAX_WAITING} notices wait for Kafka already`;
    this.#waiting += 1;
    try {
      const record = this.#recordOf(notice, partnerId);
      for (let tries = 1; ; tries += 1) {
        const error = await this.publisher.publish(record).then(
          () => undefined,
          (cause: unknown) => cause,
        );
        if (error === undefined) return undefined;
        if (tries === TRIES || !(error instanceof PublishFailed && error.retryable)) return reasonOf(error);
        await delay(this.pauseMs);
      }
    } catch (error) {
      return reasonOf(error);
    } finally {
      this.#waiting -= 1;
    }
  }

  #recordOf(notice: object, partnerId: string): OutgoingRecord {
    const read = readNotice(Buffer.from(JSON.stringify(notice)), [partnerId, OPERATORS]);
    if (!read.ok) throw new TypeError(read.errors.map(({ pointer, detail }) => `${pointer} ${detail}`).join(' '));
    const { envelope } = read;
    return {
      topic: noticesTopic(this.topicPrefix),
      key: envelope.key,
      value: envelope.bytes,
      headers: recordHeaders({ envelope, source: 'relay', ceSource: 'partner-relay', acceptedAt: this.now() }),
    };
  }
}

const payloadOf = <T extends NoticeType>(
  type: T,
  webhook: NoticeSubject,
  facts: NoticeFacts<T>,
  at: number,
): object => ({
  id: webhook.id,
  partnerId: webhook.partnerId,
  eventType: webhook.eventType,
  origin: webhook.origin,
  at: new Date(at).toISOString(),
  message: noticeText(type, facts),
  ...facts,
});
