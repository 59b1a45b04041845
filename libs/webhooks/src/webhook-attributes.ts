import { z } from 'zod';
import { storedBytes } from './stored-bytes.js';

/** A text with an upper bound in characters, and one in bytes as it is stored. */
const bounded = (name: string, characters: number, bytes: number, schema = z.string()) =>
  schema
    .max(characters)
    .refine((text) => storedBytes(text) <= bytes, `${name} must take at most ${bytes} bytes as JSON in UTF-8`);

/** White space around it is a slip of who pasted it: the parser of URLs drops it, so that it would be shown and not called. */
export const endPointUrl = bounded('endPointUrl', 2_048, 4_096, z.string().trim())
  .min(1)
  .describe('https address that receives the deliveries; at most 2048 characters, also percent-encoded.');

/** An optional text in each shape of a webhook. A patch removes it by null; a registration takes null for absent. */
const optionalText = (text: z.ZodString, meaning: string) => ({
  input: text
    .nullish()
    .transform((value) => value ?? undefined)
    .describe(meaning),
  patch: text.nullable().optional().describe(meaning),
  stored: z.string().optional(),
  shown: z.string().nullable(),
});

/**
 * The attributes that a webhook may lack. A new one is an entry here: input, patch, stored record, details and commands
 * follow.
 */
const OPTIONAL = {
  endPointDesc: optionalText(
    bounded('endPointDesc', 1_000, 3_000),
    'Description of the endpoint; at most 3000 bytes as JSON in UTF-8.',
  ),
  endPointName: optionalText(
    bounded('endPointName', 200, 600),
    'Name of the endpoint; at most 600 bytes as JSON in UTF-8.',
  ),
};
type Optional = typeof OPTIONAL;
type Values<Form extends keyof Optional[keyof Optional]> = {
  [Name in keyof Optional]: z.output<Optional[Name][Form]>;
};
const NAMES = Object.keys(OPTIONAL) as (keyof Optional)[];

/** The optional attributes as members of a zod object. */
export const optionalMembers = <Form extends keyof Optional[keyof Optional]>(
  form: Form,
): { [Name in keyof Optional]: Optional[Name][Form] } =>
  Object.fromEntries(NAMES.map((name) => [name, OPTIONAL[name][form]])) as {
    [Name in keyof Optional]: Optional[Name][Form];
  };

/** Every optional attribute; null where the webhook has none. */
export const shownAttributes = (given: Partial<Values<'stored'>>): Values<'shown'> =>
  Object.fromEntries(NAMES.map((name) => [name, given[name] ?? null])) as Values<'shown'>;

/** The optional attributes that are named, among them those that null removes. */
export const namedAttributes = <Value>(given: { readonly [Name in keyof Optional]?: Value | undefined }) =>
  Object.fromEntries(NAMES.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]]))) as {
    [Name in keyof Optional]?: Exclude<Value, undefined>;
  };
