import type { JsonFault } from '@relay/json';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import equality from 'ajv/dist/runtime/equal.js';
import { RE2JS } from 're2js';
import { z } from 'zod';
import { payloadFault } from './payload-fault.js';
import { type JsonObject, schemaFaults } from './schema-rules.js';

// Made once, because making one takes longer than a whole check.
const DATE_TIME = z.iso.datetime({ offset: true });
const EMAIL = z.email();

/** The formats that are checked; all others are annotations. */
const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  uuid: (text) => z.regexes.guid.test(text),
  'date-time': (text) => DATE_TIME.safeParse(text).success,
  email: (text) => text.length <= 320 && EMAIL.safeParse(text).success,
  uri: (text) => /^[a-z][a-z\d+.-]*:/i.test(text) && URL.canParse(text),
};

const MAX_FAULTS = 20;
/** A larger payload gets its first fault only, because ajv keeps each of them. */
const MAX_BYTES_FOR_ALL = 16 * 1024;

/** Compiles a pattern for a matcher that takes linear time. ajv keeps matchers by their text. */
function linear(pattern: string): { test(text: string): boolean; toString(): string } {
  const matcher = RE2JS.compile(pattern);
  return { test: (text) => matcher.matcher(text).find(), toString: () => pattern };
}

/** Whether two values of JSON are equal. */
function isSame(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  if (Array.isArray(a) || Array.isArray(b))
    return (
      Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, index) => isSame(item, b[index]))
    );
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isSame(Reflect.get(a, name), Reflect.get(b, name)))
  );
}

// ajv 8.20 calls `toString` and `valueOf` of the objects that it compares, and compares their `constructor` by identity, also where
// a payload has members of these names (ajv#2624).
Object.assign(equality, { default: Object.assign(isSame, { code: equality.default.code }) });

function compiled(schema: JsonObject, allErrors: boolean): ValidateFunction {
  const ajv = new Ajv2020({
    allErrors,
    strict: false,
    validateSchema: allErrors,
    logger: false,
    // Otherwise `required` finds `toString` in every object.
    ownProperties: true,
    code: { regExp: Object.assign(linear, { code: 'linear' }) },
  });
  for (const [name, validate] of Object.entries(FORMATS)) ajv.addFormat(name, { type: 'string', validate });
  const { $id: _id, ...anonymous } = schema;
  return ajv.compile(anonymous);
}

export type PayloadSchema =
  | { readonly ok: true; readonly schema: JsonObject; readonly unknown: readonly string[] }
  | { readonly ok: false; readonly faults: readonly JsonFault[] };

/**
 * Reads a JSON Schema (2020-12) of payloads. An accepted one is bounded by rules, so that no payload makes its check long; pointers
 * lead into the schema. `unknown` names its keywords and formats that nothing checks. Never throws.
 */
export function readPayloadSchema(schema: JsonObject): PayloadSchema {
  const { faults, unknown } = schemaFaults(schema, {
    formats: Object.keys(FORMATS),
    costOf: (pattern) => RE2JS.compile(pattern).programSize(),
  });
  if (faults.length > 0) return { ok: false, faults: faults.slice(0, MAX_FAULTS) };
  try {
    compiled(schema, true);
    return { ok: true, schema, unknown };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { ok: false, faults: [{ pointer: '', detail: `the schema cannot be compiled: ${reason}` }] };
  }
}

/**
 * Returns a check of payloads by an accepted schema, which compiles it at its first call. Pointers lead into the payload; no text
 * contains a value of it.
 */
export function compilePayloadSchema(schema: JsonObject): (payload: unknown) => readonly JsonFault[] {
  let first: ValidateFunction | undefined;
  let all: ValidateFunction | undefined;
  return (payload) => {
    first ??= compiled(schema, false);
    if (isValid(first, payload)) return [];
    let errors: readonly ErrorObject[] | null | undefined = first.errors;
    if (JSON.stringify(payload).length < MAX_BYTES_FOR_ALL) {
      all ??= compiled(schema, true);
      isValid(all, payload);
      errors = all.errors;
    }
    return (errors ?? [])
      .filter(({ keyword }) => keyword !== 'if')
      .slice(0, MAX_FAULTS)
      .map(payloadFault);
  };
}

/** ajv throws for some payloads, as with `unevaluatedProperties`; such a payload has a fault. */
function isValid(validate: ValidateFunction, payload: unknown): boolean {
  try {
    return validate(payload);
  } catch {
    validate.errors = [{ keyword: 'unchecked', instancePath: '', schemaPath: '', params: {} }];
    return false;
  }
}

const TYPED: Readonly<Record<string, unknown>> = {
  string: 'text',
  number: 1,
  integer: 1,
  boolean: true,
  array: [],
  null: null,
};
const FORMATTED: Readonly<Record<string, string>> = {
  uuid: '0b7c1f52-3d0e-4c5a-9a51-3f6e0c1d2b4a',
  'date-time': '2026-01-01T00:00:00Z',
  email: 'someone@example.com',
  uri: 'https://example.com/',
};

/** Returns a small payload that keeps to the schema; undefined if a simple guess does not. */
export function sampleOf(schema: JsonObject): JsonObject | undefined {
  const made = guess(schema, 0);
  if (typeof made !== 'object' || made === null || Array.isArray(made)) return undefined;
  return compilePayloadSchema(schema)(made).length === 0 ? (made as JsonObject) : undefined;
}

function guess(schema: unknown, depth: number): unknown {
  if (typeof schema !== 'object' || schema === null || depth > 5) return {};
  const { type, format, properties, examples, enum: choices, ...rest } = schema as JsonObject;
  for (const name of ['const', 'default', 'example']) if (name in rest) return rest[name];
  for (const list of [examples, choices]) if (Array.isArray(list) && list.length > 0) return list[0];
  if (typeof properties === 'object' && properties !== null)
    return Object.fromEntries(Object.entries(properties).map(([name, member]) => [name, guess(member, depth + 1)]));
  const kind: unknown = Array.isArray(type) ? type[0] : type;
  if (typeof kind !== 'string' || !(kind in TYPED)) return {};
  return kind === 'string' ? (FORMATTED[String(format)] ?? 'text') : TYPED[kind];
}
