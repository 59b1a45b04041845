/**
 * The built-in event types in the order of the specification. Each has a description for partners. A type has the form
 * `<subject>.<action>` and names its Kafka topic.
 */
export const EVENT_MEANINGS = {
  'task.created': 'A task was created for a user in a financial plan.',
  'task.updated': 'A task of a user was changed.',
  'task.deleted': 'A task of a user was deleted.',
  'recommendation.created': 'A recommendation was made.',
  'recommendation.updated': 'A recommendation was changed.',
  'recommendation.deleted': 'A recommendation was withdrawn.',
  'plan.created': 'A financial plan was created.',
  'plan.updated': 'A financial plan was changed.',
  'plan.completed': 'A financial plan was completed.',
  'message.created': 'A message was written.',
  'notification.completed': 'A notification was completed.',
  'tax_return.created': 'A tax return was begun.',
  'tax_return.updated': 'A tax return was changed.',
  'tax_return.filed': 'A tax return was filed.',
};
export type EventType = keyof typeof EVENT_MEANINGS;
export const EVENT_TYPES = Object.keys(EVENT_MEANINGS) as readonly string[] as readonly [EventType, ...EventType[]];

type SubjectOf<T> = T extends `${infer S}.${string}` ? S : never;

/** The subject of a payload: the part of the event type before the dot. */
export type Subject = SubjectOf<EventType>;

const known: ReadonlySet<unknown> = new Set(EVENT_TYPES);

export function isEventType(value: unknown): value is EventType {
  return known.has(value);
}

export function subjectOf<T extends EventType>(type: T): SubjectOf<T>;
export function subjectOf(type: EventType): string {
  return type.slice(0, type.indexOf('.'));
}

/**
 * The event types of notices, with a description of each for partners. A notice is an envelope that the relay itself sends
 * about a webhook of a partner. Sources cannot send notices.
 */
export const NOTICE_MEANINGS = {
  'webhook.failing': 'Every attempt of a webhook fails; five days of nothing but failures disable it.',
  'webhook.disabled': 'A webhook was disabled: its deliveries wait.',
  'webhook.enabled': 'A disabled webhook is active again: its deliveries follow.',
  'webhook.parked': 'So many deliveries of a webhook wait that further ones wait in the log.',
  'deliveries.expiring': 'Deliveries that wait for a webhook are near the end of the retention of the log.',
  'replay.finished': 'A replay for a webhook is done, or was cancelled.',
  'secret.rotated': 'A webhook has a new signing secret; the former one signs for another 24 hours.',
};
export type NoticeType = keyof typeof NOTICE_MEANINGS;
export const NOTICE_TYPES = Object.keys(NOTICE_MEANINGS) as readonly string[] as readonly [NoticeType, ...NoticeType[]];

/** Any event type: a built-in type, a type that an operator applied, or the type of a notice. */
export type EnvelopeType = EventType | NoticeType | (string & {});

const knownNotices: ReadonlySet<string> = new Set(NOTICE_TYPES);

export const isNoticeType = (type: string): type is NoticeType => knownNotices.has(type);
