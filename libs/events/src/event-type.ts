/** The event types of the specification, in its order. Each is `<subject>.<action>` and names its Kafka topic. */
export const EVENT_TYPES = [
  'task.created',
  'task.updated',
  'task.deleted',
  'recommendation.created',
  'recommendation.updated',
  'recommendation.deleted',
  'plan.created',
  'plan.updated',
  'plan.completed',
  'message.created',
  'notification.completed',
  'tax_return.created',
  'tax_return.updated',
  'tax_return.filed',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

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
