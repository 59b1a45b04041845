import { type NoticeFacts, noticeText, type NoticeType } from '@relay/events';

/** The webhook that a notice is about. */
export interface NoticeSubject {
  readonly id: string;
  readonly partnerId: string;
  readonly eventType: string;
  readonly origin: string;
}

/** What a line says; the script that applies changes of webhooks writes the same. */
export interface NoticeLine {
  /** When it happened, in epoch milliseconds. */
  readonly at: number;
  readonly type: NoticeType;
  readonly webhook: NoticeSubject;
  readonly facts: object;
  /** The beginning of the hour for which it has waited. */
  readonly after?: number;
}

export function lineOf<T extends NoticeType>(
  type: T,
  { id, partnerId, eventType, origin }: NoticeSubject,
  facts: NoticeFacts<T>,
  at: number,
): string {
  return `${at} ${JSON.stringify({ type, webhook: { id, partnerId, eventType, origin }, facts })}`;
}

/** Undefined for what is no line of ours. */
export function readLine(text: string): NoticeLine | undefined {
  const space = text.indexOf(' ');
  try {
    return { ...(JSON.parse(text.slice(space + 1)) as NoticeLine), at: Number(text.slice(0, space)) };
  } catch {
    return undefined;
  }
}

/** The payload of the notice. A script tells times in milliseconds. */
export function payloadOf({ at, type, webhook, facts: told }: NoticeLine): object {
  const facts = Object.fromEntries(
    Object.entries(told).map(([name, value]) => [
      name,
      name === 'oldSecretUntil' && typeof value === 'number' ? new Date(value).toISOString() : (value as unknown),
    ]),
  ) as NoticeFacts<typeof type>;
  return { ...webhook, at: new Date(at).toISOString(), message: noticeText(type, facts), ...facts };
}
