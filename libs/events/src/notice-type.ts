import { EVENT_TYPES, isEventType, type EventType } from './event-type.js';

/** The event types of notices: envelopes of the relay itself about a partner's webhooks. No source can send one. */
export const NOTICE_TYPES = [
  'webhook.failing',
  'webhook.disabled',
  'webhook.enabled',
  'webhook.parked',
  'deliveries.expiring',
  'replay.finished',
  'secret.rotated',
] as const;

export type NoticeType = (typeof NOTICE_TYPES)[number];

/** What a notice of each type says, as partners read it. */
export const NOTICE_MEANINGS: Readonly<Record<NoticeType, string>> = {
  'webhook.failing': 'Every attempt of a webhook fails; five days of nothing but failures disable it.',
  'webhook.disabled': 'A webhook was disabled: its deliveries wait.',
  'webhook.enabled': 'A disabled webhook is active again: its deliveries follow.',
  'webhook.parked': 'So many deliveries of a webhook wait that further ones wait in the log.',
  'deliveries.expiring': 'Deliveries that wait for a webhook are near the end of the retention of the log.',
  'replay.finished': 'A replay for a webhook is done, or was cancelled.',
  'secret.rotated': 'A webhook has a new signing secret; the former one signs for another 24 hours.',
};

/** Every event type that a webhook can be registered for. */
export const ENVELOPE_TYPES = [...EVENT_TYPES, ...NOTICE_TYPES] as const;
export type EnvelopeType = EventType | NoticeType;

const known: ReadonlySet<string> = new Set(NOTICE_TYPES);

export const isNoticeType = (type: string): type is NoticeType => known.has(type);

export const isEnvelopeType = (type: string): type is EnvelopeType => isEventType(type) || isNoticeType(type);
