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

/** Owns the webhooks of notices that operators add; no client has this id. They get the notices about every webhook. */
export const OPERATORS = 'operators';

/** Maximum of remembered ids. A notice beyond them may be sent again, and is then dropped by its seen mark. */
const MAX_TOLD = 10_000;

/**
 * Tells partners what became of their webhooks. A notice is a line in Redis, written in the same step as what it is about, until
 * Kafka has it: whoever made the change tells it at once, and a worker tells what is left over.
 */
export class Notices {
  /** The ids of the notices of the latest hour that this process has told, or tells now. */
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
   * The line for the script that stores what the notice is about; undefined where none is to be told.
   * @param at when it happened
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

  /** Tells a fact that is found again after a kill. Never rejects. @param at when it happened */
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
   * Tells every line that no other process tells now. Never rejects: what Kafka does not take waits.
   * @param isLeftOver only the lines that the process which made the change had time to tell
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

  /** Returns whether Kafka has the notice of the line now, or never gets it. */
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

  /** Returns whether this process sent the notice before. For a state, the lines themselves record this for all processes. */
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
