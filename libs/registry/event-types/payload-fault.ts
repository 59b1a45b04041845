import { excerpt, type JsonFault, jsonPointer } from '@relay/json';
import type { ErrorObject } from 'ajv/dist/2020.js';

const ONE: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  null: 'null',
};

const oneOf = (types: unknown): string =>
  [types]
    .flat()
    .map((type) => ONE[String(type)] ?? String(type))
    .join(' or ');
const shown = (values: readonly unknown[]): string =>
  values
    .slice(0, 20)
    .map((value) => JSON.stringify(value))
    .join(', ');

type Params = Readonly<Record<string, unknown>>;

/**
 * For common keywords of JSON Schema, a text that says how a payload violates the keyword. In a sentence, the text follows
 * the name of the member. It contains values of the schema only, never of the payload.
 */
const WORDS: Readonly<Record<string, (params: Params) => string>> = {
  type: ({ type }) => `must be ${oneOf(type)}`,
  enum: ({ allowedValues }) => `must be one of ${shown(allowedValues as unknown[])}`,
  const: ({ allowedValue }) => `must be ${shown([allowedValue])}`,
  format: ({ format }) => `is not of the format ${String(format)}`,
  pattern: ({ pattern }) => `does not match ${String(pattern)}`,
  minimum: ({ limit }) => `must be at least ${String(limit)}`,
  maximum: ({ limit }) => `must be at most ${String(limit)}`,
  exclusiveMinimum: ({ limit }) => `must be more than ${String(limit)}`,
  exclusiveMaximum: ({ limit }) => `must be less than ${String(limit)}`,
  multipleOf: ({ multipleOf }) => `must be a multiple of ${String(multipleOf)}`,
  minLength: ({ limit }) => `must have at least ${String(limit)} characters`,
  maxLength: ({ limit }) => `must have at most ${String(limit)} characters`,
  minItems: ({ limit }) => `must have at least ${String(limit)} items`,
  maxItems: ({ limit }) => `must have at most ${String(limit)} items`,
  minProperties: ({ limit }) => `must have at least ${String(limit)} members`,
  maxProperties: ({ limit }) => `must have at most ${String(limit)} members`,
  uniqueItems: () => 'has an item twice',
  contains: () => 'lacks an item that the schema asks for',
  not: () => 'is what the schema excludes',
  anyOf: () => 'matches none of the alternatives',
  oneOf: () => 'must match exactly one of the alternatives',
  unchecked: () => 'cannot be checked by its schema',
  'false schema': () => 'must not be there',
};

const decoded = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));

/**
 * Converts a fault that ajv found in a payload. If a member is missing or must not be there, the pointer names this member.
 */
export function payloadFault({ keyword, instancePath, params, message }: ErrorObject): JsonFault {
  const { missingProperty: missing, property, additionalProperty, unevaluatedProperty } = params as Params;
  const path = decoded(instancePath);
  if (typeof missing === 'string') {
    const why = typeof property === 'string' ? `: ${excerpt(property)} needs it` : '';
    return { pointer: jsonPointer([...path, missing]), detail: `${excerpt(missing)} is missing${why}.` };
  }
  const extra = additionalProperty ?? unevaluatedProperty;
  if (typeof extra === 'string')
    return { pointer: jsonPointer([...path, extra]), detail: `${excerpt(extra)} is no member of the schema.` };
  const name = path.length === 0 ? 'The payload' : excerpt(path.at(-1) ?? '');
  const words = WORDS[keyword]?.(params as Params) ?? message ?? `breaks ${keyword}`;
  return { pointer: instancePath === '' ? '' : jsonPointer(path), detail: `${name} ${words}.` };
}
