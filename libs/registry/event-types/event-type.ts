import { EVENT_MEANINGS, EVENT_TYPE_NAME, isEventType, isNoticeType, NOTICE_TYPES } from '@relay/events';
import type { JsonFault } from '@relay/json';
import { z } from 'zod';
import { compilePayloadSchema, readPayloadSchema } from './payload-schema.js';

/** Maximum length of a topic name. Kafka allows 249 characters; this leaves room for `.dlq` and a few more. */
const MAX_NAME = 240;
const object = z.record(z.string(), z.unknown());

/** An event type as an operator defines it. */
export const EventTypeInput = z
  .strictObject({
    description: z.string().max(1_000).default('').describe('What an event of this type says, as partners read it.'),
    schema: object.optional().describe('JSON Schema 2020-12 of the payload; without it any object is a payload.'),
    sample: object.optional().describe('A payload, for documents and test deliveries. It must keep to the schema.'),
    key: z
      .string()
      .regex(/^(?:\/(?:[^~/]|~[01])+)+$/, 'is no JSON Pointer (RFC 6901) such as /id')
      .max(200)
      .optional()
      .describe('JSON Pointer of the member that becomes the Kafka key; by default `/id` if it is a UUID.'),
    audience: z
      .enum(['any', 'required'])
      .default('any')
      .describe('`required`: an envelope must name the partners it is for.'),
    partners: z
      .array(z.string().regex(/^[\w-]{1,128}$/))
      .min(1)
      .max(1_000)
      .optional()
      .describe('The only partners that see the type and may register webhooks for it.'),
    deprecated: z
      .strictObject({ use: z.string().regex(EVENT_TYPE_NAME).optional().describe('The type to use instead.') })
      .optional()
      .describe('Marks the type as deprecated.'),
  })
  .meta({ id: 'EventTypeInput', description: 'An event type that an operator defines.' });
export type EventTypeInput = z.infer<typeof EventTypeInput>;

/**
 * An event type as the registry stores it. A built-in type that was archived has a record without a definition of its own.
 */
export const EventTypeRecord = EventTypeInput.extend({
  name: z.string(),
  revision: z.int().min(1).describe('Raised by each change of the schema.'),
  archived: z.boolean().default(false),
  updatedAt: z.int(),
});
export type EventTypeRecord = z.infer<typeof EventTypeRecord>;

/**
 * Returns why an event type cannot have this name; undefined if it can.
 * @param others names of the other types of this relay
 */
export function nameFault(name: string, prefix: string, others: readonly string[]): string | undefined {
  if (!EVENT_TYPE_NAME.test(name))
    return 'a name has parts of letters, digits, _ and -, joined by dots, such as order.paid';
  const length = prefix.length + name.length;
  if (length > MAX_NAME) return `KAFKA_TOPIC_PREFIX and name have at most ${MAX_NAME} characters, this one ${length}`;
  if (/^relay(?:\.|$)/i.test(name)) return 'names from relay. on are those of the relay itself';
  if (/\.dlq$/i.test(name)) return 'a name that ends in .dlq is that of a dead-letter topic';
  const taken = [...NOTICE_TYPES, ...others].find((other) => other !== name && alike(other) === alike(name));
  if (isNoticeType(name)) return 'it is the name of a notice, which only the relay sends';
  return taken === undefined ? undefined : `Kafka's metrics do not tell it from ${taken}`;
}

/** Kafka's metrics replace a dot by `_`, and some file systems ignore case, so names that differ only in this are alike. */
const alike = (name: string): string => name.replaceAll('.', '_').toLowerCase();

/** Returns the record that a change of a type results in. If the schema has changed, the revision is raised. */
export function changedTo(
  stored: EventTypeRecord | undefined,
  name: string,
  input: EventTypeInput,
  now: number,
): { kind: 'unchanged' | 'created' | 'changed'; record: EventTypeRecord } {
  const before = stored === undefined ? undefined : definitionOf(stored);
  if (stored?.archived === false && canonical(before) === canonical(input))
    return { kind: 'unchanged', record: stored };
  const isSame = stored === undefined || canonical(stored.schema) === canonical(input.schema);
  const revision = (stored?.revision ?? 1) + (isSame ? 0 : 1);
  return {
    kind: stored === undefined ? 'created' : 'changed',
    record: { ...input, name, revision, archived: false, updatedAt: now },
  };
}

/** Returns only the members of a record that operators define. */
const definitionOf = (record: EventTypeRecord): EventTypeInput => {
  const { name: _name, revision: _revision, archived: _archived, updatedAt: _at, ...definition } = record;
  return definition;
};

/** Returns a text that is the same for equal JSON values, even if their members are in another order. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  ) ?? '';

/** Returns the record that archives a type. A built-in type may have no record yet, so one is made up. */
export const archivedRecord = (stored: EventTypeRecord | undefined, name: string, now: number): EventTypeRecord => ({
  ...(stored ?? {
    ...EventTypeInput.parse({ description: isEventType(name) ? EVENT_MEANINGS[name] : '' }),
    name,
    revision: 1,
  }),
  archived: true,
  updatedAt: now,
});

/**
 * Returns the faults of a definition, and the parts of its schema that no check uses (`annotations`).
 * @param others names of the other types of this relay
 */
export function faultsOfType(
  name: string,
  { schema, sample }: EventTypeInput,
  prefix: string,
  others: readonly string[],
): { readonly faults: JsonFault[]; readonly annotations: string[] } {
  const faults: JsonFault[] = [];
  const wrong = nameFault(name, prefix, others);
  if (wrong !== undefined) faults.push({ pointer: '', detail: wrong });
  if (schema === undefined) return { faults, annotations: [] };
  const read = readPayloadSchema(schema);
  if (!read.ok) faults.push(...read.faults.map(at('/schema')));
  else if (sample !== undefined) faults.push(...compilePayloadSchema(schema)(sample).map(at('/sample')));
  return { faults, annotations: read.ok ? [...read.unknown] : [] };
}

const at =
  (place: string) =>
  ({ pointer, detail }: JsonFault): JsonFault => ({ pointer: `${place}${pointer}`, detail });
