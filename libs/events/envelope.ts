import { z } from 'zod';
import { EVENT_TYPES, isNoticeType, type EventType, type EnvelopeType } from './event-type.js';
import { EVENT_TYPE_NAME, eventTypes } from './event-types.js';
import { NOTICE_PAYLOADS, exampleNotice } from './notice.js';

type TaskType = Extract<EventType, `task.${string}`>;

const TASK_TYPES = EVENT_TYPES.filter((type): type is TaskType => type.startsWith('task.'));
const OTHER_TYPES = EVENT_TYPES.filter((type): type is Exclude<EventType, TaskType> => !type.startsWith('task.'));
const isTaskType = (type: EnvelopeType): type is TaskType => TASK_TYPES.some((task) => task === type);

// z.guid, not z.uuid: ids of platforms are not always RFC 9562 versions and variants, and either letter case is accepted.
export const uuid = (member: string, description: string): z.ZodGUID =>
  z
    .guid({
      error: ({ input }) => `${member} ${input === undefined ? 'is missing: it ' : ''}must be a UUID.`,
    })
    .meta({ description });

const payloadError = { error: () => 'payload must be a JSON object.' };

export const TaskPayload = z
  .looseObject(
    {
      id: uuid('payload.id', 'Identifier of the task.'),
      userId: uuid('payload.userId', 'Identifier of the user whose task it is.'),
      financialPlanId: uuid('payload.financialPlanId', 'Identifier of the financial plan the task belongs to.'),
    },
    payloadError,
  )
  .meta({ id: 'TaskPayload', description: 'Payload of the task events. Further fields pass unchanged.' });

export const PAYLOADS: Readonly<Record<string, z.ZodObject>> = Object.fromEntries(
  [TaskPayload, ...Object.values(NOTICE_PAYLOADS)].map((schema) => [nameOf(schema), schema]),
);

function nameOf(schema: z.ZodObject): string {
  return String(schema.meta()?.['id']);
}

/** Name of the schema in `PAYLOADS`; undefined where any object is a payload of this type. */
export const payloadSchemaOf = (type: EnvelopeType): string | undefined =>
  isNoticeType(type) ? nameOf(NOTICE_PAYLOADS[type]) : isTaskType(type) ? nameOf(TaskPayload) : undefined;

const EXAMPLE = { id: '0b7c1f52-3d0e-4c5a-9a51-3f6e0c1d2b4a', userId: '9d8c7b6a-5f4e-4d3c-8b2a-190817263544' };
const TASK_EXAMPLE: z.input<typeof TaskPayload> = {
  ...EXAMPLE,
  financialPlanId: '1a2b3c4d-5e6f-4a1b-8c2d-3e4f5a6b7c8d',
};

/** A payload of this type, for documents, test deliveries and samples. */
export const examplePayload = (type: EnvelopeType): Readonly<Record<string, unknown>> =>
  isNoticeType(type)
    ? exampleNotice(type)
    : (eventTypes.applied(type)?.sample ?? (isTaskType(type) ? TASK_EXAMPLE : EXAMPLE));

const id = uuid('id', 'Identifier of the delivery; the same id with the same content is delivered once.');

const typeOf = <T extends EventType>(types: readonly T[]): z.ZodEnum<{ [K in T]: K }> =>
  z
    .enum(types, { error: ({ input }) => eventTypes.refusal('sendable', input) })
    .meta({ description: 'Event type, in the form <subject>.<action>; it names the Kafka topic.' });

const envelopeError = { error: () => 'An envelope must be a JSON object.' };

const TaskEnvelope = z
  .strictObject({ id, type: typeOf(TASK_TYPES), payload: TaskPayload })
  .meta({ id: 'TaskEnvelope', description: 'A delivery about a task.' });

/** Finds every fault of an envelope of unknown type, whose members the union does not check. */
export const OtherEnvelope = z
  .strictObject(
    {
      id,
      type: typeOf(OTHER_TYPES).meta({ eventTypes: 'other' }),
      payload: z.looseObject({}, payloadError).meta({ description: 'Depends on the subject; passes unchanged.' }),
    },
    envelopeError,
  )
  .meta({ id: 'OtherEnvelope', description: 'A delivery about any other subject.' });

export const Envelope = z.discriminatedUnion('type', [TaskEnvelope, OtherEnvelope], envelopeError).meta({
  id: 'Envelope',
  description: 'A webhook delivery: the first part of its type names what the payload is about.',
});

export type Envelope = z.infer<typeof Envelope>;

/** An envelope of a type that is not built in, as the log holds it: its schema ruled when it was accepted. */
export const OpenEnvelope = OtherEnvelope.extend({
  type: z.string().regex(EVENT_TYPE_NAME, { error: ({ input }) => eventTypes.refusal('sendable', input) }),
});
