import { hash } from 'node:crypto';
import { excerpt, jsonPointer, parseJson, memberSource, type JsonFault } from '@relay/json';
import { z } from 'zod';
import { Envelope, OpenEnvelope, OtherEnvelope } from './envelope.js';
import { isEventType, type EnvelopeType, type NoticeType } from './event-type.js';
import { eventTypeName, eventTypes } from './event-types.js';
import { Notice } from './notice.js';

const MAX_ERRORS = 20;

/** An envelope that passed every check, and the facts that the relay derives from it. */
export interface AcceptedEnvelope<T extends EnvelopeType = EnvelopeType> {
  /** In lower case, whatever the bytes say. */
  id: string;
  type: T;
  /** As received; Kafka and every endpoint get these bytes. */
  bytes: Buffer;
  /** 16 hexadecimal digits, equal for equal content: the JSON value and the audience. */
  contentHash: string;
  /**
   * Kafka key: `payload.id` in lower case if it is a UUID, else the id of the envelope. If an operator defined the event
   * type, the definition can choose another member of the payload as the key.
   */
  key: string;
  /** The partners it is limited to, sorted, without repetition; empty: every partner with a matching webhook. */
  audience: string[];
  /** Origin of a CloudEvent, and when it happened by its producer's clock. */
  event?: { readonly source: string; readonly time?: string };
}

/** One member at fault: RFC 6901 pointer and a sentence that names it. */
export type EnvelopeError = JsonFault;

export type EnvelopeResult<T extends EnvelopeType = EnvelopeType> =
  | { ok: true; envelope: AcceptedEnvelope<T> }
  /**
   * `malformed`: the bytes are no acceptable JSON. `invalid`: they are JSON and no envelope. `forbidden`: the sender may not send
   * this type, whether or not it exists.
   */
  | { ok: false; fault: 'too-long' | 'malformed' | 'invalid' | 'forbidden'; errors: EnvelopeError[] };

/** Rules for the envelopes of one sender, beside those of the event types. */
export interface SenderRules {
  readonly maxBytes: number;
  /** Returns in words why the sender may not send this type; undefined if it may. */
  typeRefusal(type: string): string | undefined;
}

const ANY_SENDER: SenderRules = { maxBytes: Infinity, typeRefusal: () => undefined };

/** Reads one envelope for the given partners (none: for all), by all rules of its sender and of its type. Never throws. */
export function readEnvelope(bytes: Uint8Array, audience: readonly string[], sender = ANY_SENDER): EnvelopeResult {
  if (bytes.length > sender.maxBytes) {
    const detail = `An envelope has at most ${sender.maxBytes} bytes, this one ${bytes.length}.`;
    return { ok: false, fault: 'too-long', errors: [{ pointer: '', detail }] };
  }
  return readAs<EnvelopeType>(bytes, audience, (value) => {
    const type = typeOf(value);
    const refusal = typeof type === 'string' ? sender.typeRefusal(type) : undefined;
    if (refusal !== undefined)
      return { ok: false, fault: 'forbidden', errors: [{ pointer: '/type', detail: refusal }] };
    const applied = eventTypes.applied(type);
    if (applied === undefined) {
      const checked = checkedBy(isEventType(type) ? Envelope : OtherEnvelope, value);
      return checked.ok && !eventTypes.is('sendable', type) ? notSendable(type) : checked;
    }
    const checked = checkedBy(OpenEnvelope, value);
    if (!checked.ok) return checked;
    if (!eventTypes.is('sendable', type)) return notSendable(type);
    if (applied.audience === 'required' && audience.length === 0)
      return invalid([
        { pointer: '', detail: `${applied.name} is for named partners only: send the header relay-partner.` },
      ]);
    const faults = applied.faultsOf(checked.envelope.payload).slice(0, MAX_ERRORS);
    return faults.length === 0
      ? { ...checked, key: applied.key }
      : invalid(faults.map(({ pointer, detail }) => ({ pointer: `/payload${pointer}`, detail })));
  });
}

/**
 * Reads an envelope of the log, of any size. A schema rules acceptance only: what was accepted stays an envelope when the schema becomes tighter,
 * and also for a process that does not know the type yet. Never throws.
 */
export const readLogged = (bytes: Uint8Array, audience: readonly string[]): EnvelopeResult =>
  readAs<EnvelopeType>(bytes, audience, (value) =>
    checkedBy(isEventType(typeOf(value)) ? Envelope : OpenEnvelope, value),
  );

/**
 * Reads a notice, which no source can send. The relay sends a kind of notice once a webhook and hour, under one id. A record
 * with this id is that notice, whatever its content, and the first one counts. A notice has an audience; otherwise it would
 * reach every partner.
 */
export function readNotice(bytes: Uint8Array, audience: readonly string[]): EnvelopeResult<NoticeType> {
  if (audience.length === 0) return invalid([{ pointer: '', detail: 'A notice names the partners that it is for.' }]);
  const result = readAs(bytes, audience, (value) => checkedBy(Notice, value));
  if (!result.ok) return result;
  const { id, audience: partners } = result.envelope;
  return { ok: true, envelope: { ...result.envelope, contentHash: shortHash(`${id}\n${partners.join(',')}`) } };
}

type Refused = Extract<EnvelopeResult, { ok: false }>;
type Checked<T extends EnvelopeType> =
  | {
      ok: true;
      envelope: { id: string; type: T; payload: Record<string, unknown> };
      /** JSON Pointer of the payload's member that becomes the Kafka key. */
      key?: string | undefined;
    }
  | Refused;

const typeOf = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, 'type') : undefined;

const notSendable = (type: unknown): Refused =>
  invalid([{ pointer: '/type', detail: eventTypes.refusal('sendable', type) }]);

function checkedBy<T extends EnvelopeType>(
  schema: z.ZodType<{ id: string; type: T; payload: Record<string, unknown> }>,
  value: unknown,
): Checked<T> {
  const checked = schema.safeParse(value);
  return checked.success ? { ok: true, envelope: checked.data } : invalid(errorsOf(checked.error));
}

function readAs<T extends EnvelopeType>(
  bytes: Uint8Array,
  audience: readonly string[],
  check: (value: unknown) => Checked<T>,
): EnvelopeResult<T> {
  const json = parseJson(bytes);
  if (!json.ok) return malformed(json.fault);
  const checked = check(json.value);
  if (!checked.ok) return checked;
  const { type, payload } = checked.envelope;
  const id = checked.envelope.id.toLowerCase();
  const partners = audience.length === 0 ? [] : [...new Set(audience)].toSorted();
  return {
    ok: true,
    envelope: {
      id,
      type,
      bytes: Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
      contentHash: contentHash(json.canonical, id, partners),
      key: keyOf(payload, checked.key) ?? id,
      audience: partners,
    },
  };
}

/** @param pointer JSON Pointer of an applied type; without it the id of the payload if that is a UUID */
function keyOf(payload: Record<string, unknown>, pointer: string | undefined): string | undefined {
  if (pointer === undefined) {
    const { id } = payload;
    return typeof id === 'string' && z.regexes.guid.test(id) ? id.toLowerCase() : undefined;
  }
  let value: unknown = payload;
  for (const name of pointer.split('/').slice(1))
    value =
      typeof value === 'object' && value !== null
        ? Reflect.get(value, name.replaceAll('~1', '/').replaceAll('~0', '~'))
        : undefined;
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

/**
 * UUIDs compare in lower case, so two bodies that differ only in the letter case of `id` are the same content. `id` sorts first
 * among an envelope's three members, so its canonical text always starts with `{"id":"<id>"`.
 */
function contentHash(canonical: string, id: string, audience: readonly string[]): string {
  const start = '{"id":"'.length;
  const content = canonical.slice(0, start) + id + canonical.slice(start + id.length);
  return shortHash(`${content}\n${audience.join(',')}`);
}

const shortHash = (text: string): string => hash('sha256', text, 'hex').slice(0, 16);

function errorsOf({ issues }: z.ZodError): EnvelopeError[] {
  return issues
    .flatMap((issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.slice(0, MAX_ERRORS).map((name) => ({
            pointer: jsonPointer([name]),
            detail: `${excerpt(name)} is no member of an envelope: it has id, type and payload only.`,
          }))
        : [{ pointer: jsonPointer(issue.path), detail: issue.message }],
    )
    .slice(0, MAX_ERRORS);
}

const nonEmpty = (name: string): z.ZodString =>
  z.string({ error: () => `${name} must be a text.` }).min(1, `${name} is empty.`);

/** The attributes of every CloudEvent 1.0; the envelope adds rules for id, type and data. */
const Attributes = z.looseObject(
  {
    specversion: z.literal('1.0', { error: () => 'specversion must be 1.0.' }),
    id: nonEmpty('id'),
    source: nonEmpty('source').max(2_048, 'source has at most 2,048 characters.'),
    type: nonEmpty('type'),
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
    type: eventTypeName('sendable').describe('It becomes the type of the envelope.'),
    data: z.looseObject({}).describe('The payload.'),
  })
  .meta({
    id: 'CloudEvent',
    description:
      'A CloudEvent 1.0 in structured mode. Its `data` becomes the payload; further attributes are not kept.',
  });

/** Reads a CloudEvent in structured mode as `readEnvelope` reads an envelope; pointers lead into the event. Never throws. */
export function readCloudEvent(bytes: Uint8Array, audience: readonly string[], sender = ANY_SENDER): EnvelopeResult {
  const json = parseJson(bytes);
  if (!json.ok) return malformed(json.fault);
  const read = Attributes.safeParse(json.value);
  if (!read.success) return invalid(faultsOf(read.error));
  const data = memberSource(bytes, 'data');
  if (data === undefined) return invalid([{ pointer: '/data', detail: 'data is missing: it must be a JSON object.' }]);
  return repointed(readEvent(read.data, data, audience, sender), ({ pointer, detail }) => ({
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
  sender = ANY_SENDER,
): EnvelopeResult {
  const json = parseJson(data);
  if (!json.ok) return malformed(json.fault);
  const read = Attributes.safeParse(attributes);
  if (!read.success) return invalid(faultsOf(read.error).map(ofBinary));
  return repointed(readEvent(read.data, data, audience, sender), ofBinary);
}

function ofBinary({ pointer, detail }: EnvelopeError): EnvelopeError {
  if (pointer === '') return { pointer, detail };
  return /^\/payload(?:\/|$)/.test(pointer)
    ? { pointer: pointer.slice('/payload'.length), detail }
    : { pointer: '', detail: `Header ce-${pointer.slice(1)}: ${detail}` };
}

function readEvent(
  event: z.infer<typeof Attributes>,
  data: Uint8Array,
  audience: readonly string[],
  sender: SenderRules,
): EnvelopeResult {
  const result = readEnvelope(envelopeAround(event, data), audience, sender);
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
const malformed = (fault: EnvelopeError): Refused => ({ ok: false, fault: 'malformed', errors: [fault] });
const invalid = (errors: EnvelopeError[]): Refused => ({ ok: false, fault: 'invalid', errors });
const repointed = (result: EnvelopeResult, change: (error: EnvelopeError) => EnvelopeError): EnvelopeResult =>
  result.ok ? result : { ...result, errors: result.errors.map(change) };
