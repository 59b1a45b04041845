import {
  isNoticeType,
  noticesTopic,
  readNotice,
  recordHeaders,
  type NoticeFacts,
  type NoticeType,
} from '@relay/events';
import { type OutgoingRecord, type Publisher, PublishFailed } from '@relay/publishing';
import { reasonOf, type LogFields, type ThrottledLog } from '@relay/telemetry';
import {
  HOUR_MS,
  lineOf,
  noticeId,
  type NoticeLine,
  type NoticeLines,
  type NoticeSubject,
  payloadOf,
  readLine,
  STATE_OF,
} from './notice-lines.adapter.js';

/**
 * Client id that owns the webhooks that operators add for notices. No client has this id. These webhooks get the notices
 * about all webhooks.
 */
export const OPERATORS = 'operators';

/**
 * Maximum number of remembered ids. If an id was forgotten, the same notice may be published again. The workers then
 * recognize its id as a duplicate and do not deliver it.
 */
const MAX_TOLD = 10_000;

/**
 * Informs partners about changes of their webhooks. Each notice is stored as a line in Redis in the same step as the change
 * itself, and the line is kept until Kafka has the notice. The process that made the change publishes the notice at once. If
 * it cannot, a worker publishes it later.
 */
export class Notices {
  /** The ids of the notices of the latest hour that this process has published or is publishing. */
  readonly #told = new Set<string>();
  #hour = 0;

  constructor(
    private readonly lines: Pick<NoticeLines, 'keep' | 'claim' | 'remove'>,
    private readonly publisher: Pick<Publisher, 'publish'>,
    private readonly topicPrefix: string,
    private readonly log: Pick<ThrottledLog, 'warn'>,
    private readonly now: () => number = Date.now,
  ) {}

  /**
   * Returns the line of a notice, to be stored by the script that stores the change; undefined if no notice is needed.
   * @param at when the change happened, in epoch milliseconds
   */
  line<T extends NoticeType>(
    type: T,
    webhook: NoticeSubject,
    facts: NoticeFacts<T>,
    at = this.now(),
  ): string | undefined {
    if (isNoticeType(webhook.eventType) || this.#isTold(type, noticeId(type, webhook.id, at))) return undefined;
    return lineOf(type, webhook, facts, at);
  }

  /**
   * Stores and publishes a notice without a script of its own, for a change that is found again after a crash. It never
   * rejects.
   * @param at when the change happened, in epoch milliseconds
   */
  async tell<T extends NoticeType>(
    type: T,
    webhook: NoticeSubject,
    facts: NoticeFacts<T>,
    at = this.now(),
  ): Promise<void> {
    const line = this.line(type, webhook, facts, at);
    if (line === undefined) return;
    try {
      await this.lines.keep(line);
    } catch (error) {
      this.#lost({ type, webhookId: webhook.id, partnerId: webhook.partnerId, reason: reasonOf(error) });
      return;
    }
    await this.publish();
  }

  /**
   * Publishes all lines that no other process is publishing now. It never rejects; lines that Kafka does not accept wait.
   * @param isLeftOver whether to publish only lines whose grace period is over. Before that, the process that stored a line
   *   publishes it itself.
   */
  async publish(isLeftOver = false): Promise<void> {
    try {
      const { dropped, lines, isFull } = await this.lines.claim(isLeftOver);
      if (dropped > 0) this.#lost({ reason: 'too many notices wait for Kafka, and the oldest made room', dropped });
      const done = await Promise.all(lines.map((line) => this.#isDone(line)));
      await this.lines.remove(lines.filter((_, index) => done[index]));
      if (isFull && !done.includes(false)) await this.publish(isLeftOver);
    } catch (error) {
      this.#waiting(error);
    }
  }

  /** Publishes a line. Returns whether the line can be removed: Kafka has its notice, or will never get it. */
  async #isDone(text: string): Promise<boolean> {
    const line = readLine(text);
    if (line === undefined) return this.#lost({ reason: 'its line in Redis cannot be read' });
    const { type, webhook, at, after = at } = line;
    const id = noticeId(type, webhook.id, after);
    if (isNoticeType(webhook.eventType) || this.#isTold(type, id)) return true;
    this.#remember(id, after);
    try {
      await this.publisher.publish(this.#recordOf(id, line));
      return true;
    } catch (error) {
      this.#told.delete(id);
      if (error instanceof PublishFailed && error.retryable) return this.#waiting(error);
      return this.#lost({ type, webhookId: webhook.id, partnerId: webhook.partnerId, reason: reasonOf(error) });
    }
  }

  /**
   * Returns whether this process has already published the notice. For notices of states it returns false, because Redis
   * keeps track of them for all processes.
   */
  #isTold(type: NoticeType, id: string): boolean {
    return STATE_OF[type] === undefined && this.#told.has(id);
  }

  #remember(id: string, at: number): void {
    const hour = Math.floor(at / HOUR_MS);
    if (hour > this.#hour || this.#told.size >= MAX_TOLD) this.#told.clear();
    this.#hour = Math.max(hour, this.#hour);
    this.#told.add(id);
  }

  #recordOf(id: string, line: NoticeLine): OutgoingRecord {
    const notice = { id, type: line.type, payload: payloadOf(line) };
    const read = readNotice(Buffer.from(JSON.stringify(notice)), [line.webhook.partnerId, OPERATORS]);
    if (!read.ok) throw new TypeError(read.errors.map(({ pointer, detail }) => `${pointer} ${detail}`).join(' '));
    const { envelope } = read;
    return {
      topic: noticesTopic(this.topicPrefix),
      key: envelope.key,
      value: envelope.bytes,
      headers: recordHeaders({ envelope, source: 'relay', ceSource: 'partner-relay', acceptedAt: this.now() }),
    };
  }

  #lost(why: LogFields): true {
    this.log.warn('notice.lost', 'A partner is not told what became of its webhook; that stands all the same', why);
    return true;
  }

  #waiting(error: unknown): false {
    this.log.warn('notice.waiting', 'Notices to partners wait in Redis, because Kafka or Redis does not answer', {
      reason: reasonOf(error),
    });
    return false;
  }
}
