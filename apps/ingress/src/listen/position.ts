import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { EventType } from '@relay/events';
import type { Offsets } from '@relay/kafka';
import { Keyring } from '@relay/keyring';
import { newSigningSecret } from '@relay/webhooks';

/** Records that a stream may be behind the end of the log; what lies further back is skipped. */
export const MOST_BEHIND = 10_000;

/** Where a stream stands: of each event type, the next offset of each partition. */
export type Position = ReadonlyMap<EventType, Offsets>;

/** A position, and of which topics: their ids, where the brokers know any. */
export interface StreamPlace {
  readonly position: Position;
  readonly topicIds: ReadonlyMap<EventType, string>;
}

/** A place and when it was told, epoch milliseconds. */
export interface ToldPosition extends StreamPlace {
  readonly at: number;
}

/** Such as `lxyz1;task.created:0.1f:<topic id>;plan.created:c.0`, offsets to the base of 36. */
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

/** Reads what `positionText` wrote. */
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

/** The types of a place whose topics were deleted and made anew. */
export const madeAnew = (before: StreamPlace['topicIds'], now: StreamPlace['topicIds']): EventType[] =>
  [...before].flatMap(([type, id]) => (now.has(type) && now.get(type) !== id ? [type] : []));

/**
 * Where a stream begins that was at `told`. A type that is new to it begins at its end, a partition that is new at its first
 * record. Where the log has not all that lies between, or that is too much, it begins at the end.
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
    // Created anew with fewer partitions.
    if (known.length > ends.length) isWhole = false;
    return [type, offsets];
  });
  isWhole &&= behind <= MOST_BEHIND;
  return isWhole ? { position: new Map(position), isWhole } : { position: end, isWhole };
}

const IV_BYTES = 12;

/** The signing secret of a partner's streams, and the positions told on them: both hold for every process with the same keys. */
@Injectable()
export class StreamKeys {
  constructor(private readonly keyring: Keyring) {}

  /** The same until ENCRYPTION_KEYS begins with another key, so that a program under development can keep it. */
  secretOf(partnerId: string): string {
    const [, digest = ''] = this.keyring.hash(partnerId, ['listen', 'secret']).split('.');
    return newSigningSecret(Buffer.from(digest, 'base64url'));
  }

  /** Sealed, because offsets show how much others send. */
  sealed(partnerId: string, told: ToldPosition): string {
    return this.keyring.encrypt(positionText(told), contextOf(partnerId), randomBytes(IV_BYTES));
  }

  /** Undefined for a text that was not told to this partner. */
  opened(partnerId: string, sealed: string): ToldPosition | undefined {
    try {
      return positionIn(this.keyring.decrypt(sealed, contextOf(partnerId)));
    } catch {
      return undefined;
    }
  }
}

const contextOf = (partnerId: string): readonly string[] => ['listen', 'position', partnerId];
