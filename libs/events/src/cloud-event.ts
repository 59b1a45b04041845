import { jsonPointer, memberSource, parseJson } from '@relay/json';
import { z } from 'zod';
import { EVENT_TYPES } from './event-type.js';
import { readEnvelope, type EnvelopeError, type EnvelopeResult } from './read-envelope.js';

const text = (name: string): z.ZodString =>
  z.string({ error: () => `${name} must be a text.` }).min(1, `${name} is empty.`);

/** The attributes of every CloudEvent 1.0; the envelope adds rules for id, type and data. */
const Attributes = z.looseObject(
  {
    specversion: z.literal('1.0', { error: () => 'specversion must be 1.0.' }),
    id: text('id'),
    source: text('source').max(2_048, 'source has at most 2,048 characters.'),
    type: text('type'),
    datacontenttype: z
      .string()
      .regex(/^application\/(?:[\w.-]+\+)?json *(?:;.*)?$/i, 'datacontenttype must be JSON, or left out.')
      .optional(),
    time: z.iso.datetime({ offset: true, error: () => 'time must be a time of RFC 3339.' }).optional(),
    data_base64: z
      .undefined({ error: () => 'data_base64 is not accepted: send the payload as JSON in data.' })
      .optional(),
  },
  { error: () => 'A CloudEvent must be a JSON object.' },
);

/** A CloudEvent in structured mode for the documents, with the rules of the envelope for its members. */
export const CloudEvent = Attributes.omit({ data_base64: true })
  .extend({
    id: z.guid().describe('It becomes the id of the envelope.'),
    source: z.string().min(1).max(2_048).describe('Where the event is from: `ce_source` of its record.'),
    time: z.iso.datetime({ offset: true }).optional().describe('When it happened: `relay-event-time` of its record.'),
    type: z.enum(EVENT_TYPES).describe('It becomes the type of the envelope.'),
    data: z.looseObject({}).describe('The payload.'),
  })
  .meta({
    id: 'CloudEvent',
    description:
      'A CloudEvent 1.0 in structured mode. Its `data` becomes the payload; further attributes are not kept.',
  });

/** Reads a CloudEvent in structured mode as `readEnvelope` reads an envelope; pointers lead into the event. Never throws. */
export function readCloudEvent(bytes: Uint8Array, audience: readonly string[]): EnvelopeResult {
  const json = parseJson(bytes);
  if (!json.ok) return malformed(json.fault);
  const read = Attributes.safeParse(json.value);
  if (!read.success) return invalid(faultsOf(read.error));
  const data = memberSource(bytes, 'data');
  if (data === undefined) return invalid([{ pointer: '/data', detail: 'data is missing: it must be a JSON object.' }]);
  return repointed(readEvent(read.data, data, audience), ({ pointer, detail }) => ({
    pointer: pointer.replace(/^\/payload/, '/data'),
    detail,
  }));
}

/**
 * Reads a CloudEvent in binary mode likewise: its attributes by their names without `ce-`, its data as the body. Pointers lead
 * into the body; what is wrong with a header says so.
 */
export function readBinaryCloudEvent(
  attributes: Readonly<Record<string, string | undefined>>,
  data: Uint8Array,
  audience: readonly string[],
): EnvelopeResult {
  const json = parseJson(data);
  if (!json.ok) return malformed(json.fault);
  const read = Attributes.safeParse(attributes);
  if (!read.success) return invalid(faultsOf(read.error).map(ofBinary));
  return repointed(readEvent(read.data, data, audience), ofBinary);
}

function ofBinary({ pointer, detail }: EnvelopeError): EnvelopeError {
  if (pointer === '') return { pointer, detail };
  return /^\/payload(?:\/|$)/.test(pointer)
    ? { pointer: pointer.slice('/payload'.length), detail }
    : { pointer: '', detail: `Header ce-${pointer.slice(1)}: ${detail}` };
}

function readEvent(event: z.infer<typeof Attributes>, data: Uint8Array, audience: readonly string[]): EnvelopeResult {
  const result = readEnvelope(envelopeAround(event, data), audience);
  if (!result.ok) return result;
  const { source, time } = event;
  return { ok: true, envelope: { ...result.envelope, event: { source, ...(time === undefined ? {} : { time }) } } };
}

/** The bytes of an envelope around the data's own, so that its numbers and key order survive. */
const envelopeAround = ({ id, type }: { id: string; type: string }, data: Uint8Array): Buffer =>
  Buffer.concat([
    Buffer.from(`{"id":${JSON.stringify(id)},"type":${JSON.stringify(type)},"payload":`),
    data,
    Buffer.from('}'),
  ]);

const faultsOf = ({ issues }: z.ZodError): EnvelopeError[] =>
  issues.map(({ path, message }) => ({ pointer: jsonPointer(path), detail: message }));
const malformed = (fault: EnvelopeError): EnvelopeResult => ({ ok: false, fault: 'malformed', errors: [fault] });
const invalid = (errors: EnvelopeError[]): EnvelopeResult => ({ ok: false, fault: 'invalid', errors });
const repointed = (result: EnvelopeResult, change: (error: EnvelopeError) => EnvelopeError): EnvelopeResult =>
  result.ok ? result : { ...result, errors: result.errors.map(change) };
