import { z } from 'zod';
import { EVENT_TYPES } from './event-type.js';
import type { EventType } from './event-type.js';
import { isOtherType, isTaskType, payloadError, TaskPayload, uuid } from './payloads.js';

/** The largest accepted envelope, in bytes. The receiver of the bytes checks it. */
export const MAX_ENVELOPE_BYTES = 256 * 1024;

const id = uuid('id', 'Identifier of the delivery; the same id with the same content is delivered once.');

const typeOf = <T extends EventType>(types: readonly T[]): z.ZodEnum<{ [K in T]: K }> =>
  z
    .enum(types, { error: () => `type must be one of ${EVENT_TYPES.join(', ')}.` })
    .meta({ description: 'Event type, in the form <subject>.<action>; it names the Kafka topic.' });

const envelopeError = { error: () => 'An envelope must be a JSON object.' };

const TaskEnvelope = z
  .strictObject({ id, type: typeOf(EVENT_TYPES.filter(isTaskType)), payload: TaskPayload })
  .meta({ id: 'TaskEnvelope', description: 'A delivery about a task.' });

/** Finds every fault of an envelope of unknown type, whose members the union does not check. */
export const OtherEnvelope = z
  .strictObject(
    {
      id,
      type: typeOf(EVENT_TYPES.filter(isOtherType)),
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
