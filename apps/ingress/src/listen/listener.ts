import { Readable } from 'node:stream';
import { RELAY_VERSION } from '@relay/config';
import { attemptHeaders } from '@relay/delivery';
import {
  STREAM_ENDS,
  type EnvelopeRecord,
  type EventType,
  type ListenEventData,
  type ListenEventName,
  type StreamEnd,
} from '@relay/events';
import type { StreamKeys, StreamPlace } from './position.js';

/** What waits to be read of one stream; with more it gets nothing new. */
const MOST_WAITING = 64 * 1024;
/** Load balancers end a connection that is silent for a minute. */
const HEARTBEAT_MS = 15_000;
/** A client that reads nothing for this time is cut. */
const SLOW_MS = 30_000;
/** How long an ended stream may still be read. */
const LINGER_MS = 2_000;
/** What a client waits before it connects again. */
const RETRY_MS = 1_000;

/**
 * One stream of `GET /listen`: server-sent events with a bounded buffer. It keeps its own place in the log, so that nothing has
 * to wait for it in memory: who reads slowly falls behind and gets the records later.
 */
export class Listener {
  readonly stream = new Readable({ highWaterMark: MOST_WAITING, read: () => (this.#fullSince = undefined) });
  readonly #next: Map<EventType, number[]>;
  readonly #secret: string;
  #fullSince: number | undefined;
  #writtenAt = 0;
  #endedBy: StreamEnd | undefined;

  constructor(
    readonly partnerId: string,
    private readonly start: StreamPlace,
    private readonly keys: StreamKeys,
    /** Whether its access token still holds. */
    readonly isPermitted: () => Promise<boolean>,
    private readonly now: () => number = Date.now,
  ) {
    this.#next = new Map([...start.position].map(([type, offsets]) => [type, [...offsets]]));
    this.#secret = keys.secretOf(partnerId);
  }

  /** The ids of the topics that it began in. */
  get topicIds(): StreamPlace['topicIds'] {
    return this.start.topicIds;
  }

  /** Whether it takes further records now. */
  get isReady(): boolean {
    return this.#endedBy === undefined && !this.stream.destroyed && this.#fullSince === undefined;
  }

  /** Why the relay ended it; undefined while it is open, and where its client left. */
  get endedBy(): StreamEnd | undefined {
    return this.#endedBy;
  }

  /** The next offset of a partition; 0 of one that was added since. */
  nextOf(type: EventType, partition: number): number | undefined {
    const offsets = this.#next.get(type);
    return offsets === undefined ? undefined : (offsets[partition] ?? 0);
  }

  /** Everything of the partition before this offset was written or was not for it. */
  passed(type: EventType, partition: number, next: number): void {
    const offsets = this.#next.get(type);
    if (offsets === undefined) return;
    while (offsets.length < partition) offsets.push(0);
    offsets[partition] = next;
  }

  open(skippedSince: number | undefined): void {
    this.#write('open', { secret: this.#secret, types: [...this.#next.keys()] }, `retry: ${RETRY_MS}\n`);
    if (skippedSince === undefined) return;
    const [since = '', until = ''] = [skippedSince, this.now()].map((at) => new Date(at).toISOString());
    this.#write('skipped', { since, until });
  }

  /** Writes the record if it is for its partner, as a webhook of its own would get it, and says whether it was. */
  take({ envelope, record, traceparent }: EnvelopeRecord, type: EventType, partition: number): boolean {
    this.passed(type, partition, record.offset + 1);
    if (envelope.audience.length > 0 && !envelope.audience.includes(this.partnerId)) return false;
    const body = record.value ?? Buffer.alloc(0);
    const { id } = envelope;
    const headers = attemptHeaders({
      body,
      envelopeId: id,
      eventType: type,
      attempt: 1,
      now: this.now(),
      secrets: [this.#secret],
      traceparent,
      version: RELAY_VERSION,
    });
    this.#write('delivery', { id, type, headers, body: body.toString('utf8') });
    return true;
  }

  /** Ends a client that does not read, and tells the others their place from time to time. */
  look(): void {
    const now = this.now();
    if (this.#fullSince !== undefined) {
      if (now - this.#fullSince >= SLOW_MS) this.end('slow');
    } else if (now - this.#writtenAt >= HEARTBEAT_MS) this.#push(`${this.#place()}\n`);
  }

  end(reason: StreamEnd): void {
    if (this.#endedBy !== undefined) return;
    this.#write('end', { reason, detail: STREAM_ENDS[reason] });
    this.#endedBy = reason;
    this.stream.push(null);
    setTimeout(() => this.stream.destroy(), LINGER_MS).unref();
  }

  #write<Name extends ListenEventName>(name: Name, data: ListenEventData<Name>, before = ''): void {
    this.#push(`${before}${this.#place()}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  #push(text: string): void {
    if (this.#endedBy !== undefined || this.stream.destroyed) return;
    this.#writtenAt = this.now();
    if (!this.stream.push(text)) this.#fullSince ??= this.#writtenAt;
  }

  #place(): string {
    return `id: ${this.keys.sealed(this.partnerId, { at: this.now(), position: this.#next, topicIds: this.topicIds })}\n`;
  }
}
