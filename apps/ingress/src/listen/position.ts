import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { EventType } from '@relay/events';
import type { Offsets } from '@relay/kafka';
import { Keyring } from '@relay/keyring';
import { newSigningSecret } from '@relay/webhooks';

/** Most records that a resumed stream may be behind the end of the log; if it is further behind, it skips all of them. */
export const MOST_BEHIND = 10_000;

/** Position of a stream: the next offset of each partition, by event type. */
export type Position = ReadonlyMap<EventType, Offsets>;

/** A position, and the ids of its topics, if the brokers know ids. */
export interface StreamPlace {
  readonly position: Position;
  readonly topicIds: ReadonlyMap<EventType, string>;
}

/** A place, and when it was sent to the client, epoch milliseconds. */
export interface ToldPosition extends StreamPlace {
  readonly at: number;
}

/** Returns a position as text, such as `lxyz1;task.created:0.1f:<topic id>;plan.created:c.0`, with offsets in base 36. */
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

/** Reads the text of `positionText`. */
export function positionIn(text: string): ToldPosition {
  const [at = '', ...places] = text.split(';');
  const position = new Map<EventType, number[]>();
  const topicIds = new Map<EventType, string>();
  for (const place of places) {
    const [type, offsets = '', topicId] = place.split(':') as [EventType, string?, string?];
    const numbers = offsets === '' ? [] : offsets.split('.');
    position.set(
      type,
      numbers.map((each) => Number.parseInt(each, 36)),
    );
    if (topicId !== undefined) topicIds.set(type, topicId);
  }
  return { at: Number.parseInt(at, 36), position, topicIds };
}

/** Returns the types of a place whose topics were deleted and created again. */
export const madeAnew = (before: StreamPlace['topicIds'], now: StreamPlace['topicIds']): EventType[] =>
  [...before].flatMap(([type, id]) => (now.has(type) && now.get(type) !== id ? [type] : []));

/**
 * Returns the start of a stream that was at `told`. A type without a position begins at its end, a partition without one at its
 * first record. If the log lacks some of the records between, or has more than MOST_BEHIND, the stream begins at the end.
 */
export function resumed(told: Position, first: Position, end: Position): { position: Position; isWhole: boolean } {
  let behind = 0;
  let isWhole = true;
  const position = [...end].map(([type, ends]): [EventType, Offsets] => {
    const known = told.get(type);
    if (known === undefined) return [type, ends];
    const offsets = ends.map((_, partition) => known[partition] ?? 0);
    for (const [partition, offset] of offsets.entries()) {
      const high = ends[partition] ?? 0;
      if (offset < (first.get(type)?.[partition] ?? 0) || offset > high) isWhole = false;
      behind += high - offset;
    }
    // The topic was created again with fewer partitions.
    if (known.length > ends.length) isWhole = false;
    return [type, offsets];
  });
  isWhole &&= behind <= MOST_BEHIND;
  return isWhole ? { position: new Map(position), isWhole } : { position: end, isWhole };
}

const IV_BYTES = 12;

/** Makes the signing secret of a partner's streams and seals their positions; every process with the same keys agrees. */
@Injectable()
export class StreamKeys {
  constructor(private readonly keyring: Keyring) {}

  /** Returns a secret that stays until ENCRYPTION_KEYS begins with another key, so that a program in development can keep it. */
  secretOf(partnerId: string): string {
    const [, digest = ''] = this.keyring.hash(partnerId, ['listen', 'secret']).split('.');
    return newSigningSecret(Buffer.from(digest, 'base64url'));
  }

  /** Seals a position, because offsets show how much other parties send. */
  sealed(partnerId: string, told: ToldPosition): string {
    return this.keyring.encrypt(positionText(told), contextOf(partnerId), randomBytes(IV_BYTES));
  }

  /** Opens a sealed position; undefined if it was not sealed for this partner. */
  opened(partnerId: string, sealed: string): ToldPosition | undefined {
    try {
      return positionIn(this.keyring.decrypt(sealed, contextOf(partnerId)));
    } catch {
      return undefined;
    }
  }
}

const contextOf = (partnerId: string): readonly string[] => ['listen', 'position', partnerId];
