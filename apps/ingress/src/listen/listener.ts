import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { RELAY_VERSION } from '@relay/config';
import { attemptHeaders } from '@relay/delivery';
import {
  STREAM_ENDS,
  type EnvelopeRecord,
  type EnvelopeType,
  type ListenEventData,
  type ListenEventName,
  type StreamEnd,
} from '@relay/events';
import type { Offsets } from '@relay/kafka';
import { Keyring } from '@relay/keyring';
import { newSigningSecret } from '@relay/webhooks';

/** A stream with this many unread bytes gets no further records. */
const MOST_WAITING = 64 * 1024;
/** How long a stream is silent before a heartbeat, in ms. Load balancers end a connection that is silent for a minute. */
const HEARTBEAT_MS = 15_000;
/** If a client reads nothing for this time, in ms, its stream ends. */
const SLOW_MS = 30_000;
/** How long an ended stream can still be read, in ms. */
const LINGER_MS = 2_000;
/** Maximum length of a position in characters: it comes back in a header, and the headers of a request may have 16 KiB. */
export const MAX_POSITION = 12 * 1024;
/** How long a client pauses before it connects again, in ms. */
const RETRY_MS = 1_000;

/**
 * One stream of `GET /listen`: server-sent events with a bounded buffer. The stream keeps its own position in the log, so
 * records do not have to wait for it in memory. A slow client falls behind and gets the records later.
 */
export class Listener {
  readonly stream = new Readable({ highWaterMark: MOST_WAITING, read: () => (this.#fullSince = undefined) });
  readonly #next: Map<EnvelopeType, number[]>;
  readonly #secret: string;
  #fullSince: number | undefined;
  #writtenAt = 0;
  #endedBy: StreamEnd | undefined;

  constructor(
    readonly partnerId: string,
    private readonly start: StreamPlace,
    private readonly keys: StreamKeys,
    /** Whether the access token of the client is still valid. */
    readonly isPermitted: () => Promise<boolean>,
    private readonly now: () => number = Date.now,
  ) {
    this.#next = new Map([...start.position].map(([type, offsets]) => [type, [...offsets]]));
    this.#secret = keys.secretOf(partnerId);
  }

  /** The ids that the topics had when the stream began. */
  get topicIds(): StreamPlace['topicIds'] {
    return this.start.topicIds;
  }

  /** Whether the stream can take further records now. */
  get isReady(): boolean {
    return this.#endedBy === undefined && !this.stream.destroyed && this.#fullSince === undefined;
  }

  /** Why the relay ended the stream; undefined while the stream is open, or if its client left. */
  get endedBy(): StreamEnd | undefined {
    return this.#endedBy;
  }

  /** Returns the next offset of a partition; 0 if the partition was added meanwhile, undefined if the type is not wanted. */
  nextOf(type: EnvelopeType, partition: number): number | undefined {
    const offsets = this.#next.get(type);
    return offsets === undefined ? undefined : (offsets[partition] ?? 0);
  }

  /** Sets the next offset of a partition. All earlier records were written, or were not for this partner. */
  passed(type: EnvelopeType, partition: number, next: number): void {
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

  /** Writes the record in the form that a webhook gets, if the record is for this partner. Returns whether it was. */
  take({ envelope, record, traceparent }: EnvelopeRecord, type: EnvelopeType, partition: number): boolean {
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

  /** Ends the stream if its client does not read. After HEARTBEAT_MS of silence, sends the position as a heartbeat. */
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

/**
 * Maximum number of records that a resumed stream may be behind the end of the log. If it is further behind, it skips them
 * all.
 */
export const MOST_BEHIND = 10_000;

/** The position of a stream: the next offset of each partition, by event type. */
export type Position = ReadonlyMap<EnvelopeType, Offsets>;

/** A position, with the ids of its topics if the brokers know ids. */
export interface StreamPlace {
  readonly position: Position;
  readonly topicIds: ReadonlyMap<EnvelopeType, string>;
}

/** A position that was sent to a client, with the time at which it was sent, in epoch milliseconds. */
export interface ToldPosition extends StreamPlace {
  readonly at: number;
}

/** Returns a position as text, for example `lxyz1;task.created:0.1f:<topic id>;plan.created:c.0`. Numbers are in base 36. */
export function positionText({ at, position, topicIds }: ToldPosition): string {
  const places = [...position].map(([type, offsets]) =>
    [
      type,
      offsets.map((each) => each.toString(36)).join('.'),
      ...(topicIds.has(type) ? [topicIds.get(type)] : []),
    ].join(':'),
  );
  return [at.toString(36), ...places].join(';');
}

/** Parses the text that `positionText` returns. */
export function positionIn(text: string): ToldPosition {
  const [at = '', ...places] = text.split(';');
  const position = new Map<EnvelopeType, number[]>();
  const topicIds = new Map<EnvelopeType, string>();
  for (const place of places) {
    const [type, offsets = '', topicId] = place.split(':') as [EnvelopeType, string?, string?];
    const numbers = offsets === '' ? [] : offsets.split('.');
    position.set(
      type,
      numbers.map((each) => Number.parseInt(each, 36)),
    );
    if (topicId !== undefined) topicIds.set(type, topicId);
  }
  return { at: Number.parseInt(at, 36), position, topicIds };
}

/** Returns the event types whose topics were deleted and created again. */
export const madeAnew = (before: StreamPlace['topicIds'], now: StreamPlace['topicIds']): EnvelopeType[] =>
  [...before].flatMap(([type, id]) => (now.has(type) && now.get(type) !== id ? [type] : []));

/**
 * Returns the start of a stream that continues at `told`. A type that `told` does not contain begins at the end of its log,
 * and a partition that `told` does not contain begins at its first record. If the log no longer has all records since
 * `told`, or has more than MOST_BEHIND such records, the whole stream begins at the end.
 */
export function resumed(told: Position, first: Position, end: Position): { position: Position; isWhole: boolean } {
  let behind = 0;
  let isWhole = true;
  const position = [...end].map(([type, ends]): [EnvelopeType, Offsets] => {
    const known = told.get(type);
    if (known === undefined) return [type, ends];
    const offsets = ends.map((_, partition) => known[partition] ?? 0);
    for (const [partition, offset] of offsets.entries()) {
      const high = ends[partition] ?? 0;
      if (offset < (first.get(type)?.[partition] ?? 0) || offset > high) isWhole = false;
      behind += high - offset;
    }
    // If the topic has fewer partitions than before, it was created again.
    if (known.length > ends.length) isWhole = false;
    return [type, offsets];
  });
  isWhole &&= behind <= MOST_BEHIND;
  return isWhole ? { position: new Map(position), isWhole } : { position: end, isWhole };
}

const IV_BYTES = 12;

/**
 * Makes the signing secret of a partner's streams, and seals their positions. All processes with the same keys make the same
 * secret and can open the positions.
 */
@Injectable()
export class StreamKeys {
  constructor(private readonly keyring: Keyring) {}

  /**
   * Returns the secret. It changes only if ENCRYPTION_KEYS begins with another key, so a program in development can keep it.
   */
  secretOf(partnerId: string): string {
    const [, digest = ''] = this.keyring.hash(partnerId, ['listen', 'secret']).split('.');
    return newSigningSecret(Buffer.from(digest, 'base64url'));
  }

  /** Encrypts a position, because its offsets show how much other parties send. */
  sealed(partnerId: string, told: ToldPosition): string {
    return this.keyring.encrypt(positionText(told), contextOf(partnerId), randomBytes(IV_BYTES));
  }

  /** Decrypts a position; undefined if it was not encrypted for this partner. */
  opened(partnerId: string, sealed: string): ToldPosition | undefined {
    try {
      return positionIn(this.keyring.decrypt(sealed, contextOf(partnerId)));
    } catch {
      return undefined;
    }
  }
}

const contextOf = (partnerId: string): readonly string[] => ['listen', 'position', partnerId];
