import { eventTypeName } from '@relay/events';
import { z } from 'zod';
import {
  atMostOneCredential,
  atMostOneShape,
  credentialMembers,
  exactlyOneShape,
  oneCredential,
} from './credential.js';

/**
 * Returns how many bytes of UTF-8 a text takes in Redis. It is stored as JSON by Redis' own encoder, which (unlike
 * JSON.stringify) escapes DEL to six bytes and a slash to two.
 */
function storedBytes(text: string): number {
  const escaped = Buffer.byteLength(JSON.stringify(text)) - 2;
  return escaped + (text.match(/\//g)?.length ?? 0) + 5 * (text.match(/\x7f/g)?.length ?? 0);
}

/** A text with a limit in characters, and a limit in bytes for its stored form. */
const bounded = (name: string, characters: number, bytes: number, schema = z.string()) =>
  schema
    .max(characters)
    .refine((text) => storedBytes(text) <= bytes, `${name} must take at most ${bytes} bytes as JSON in UTF-8`);

/**
 * White space is trimmed, because the URL parser drops it too. Otherwise the URL that is shown differs from the URL that is
 * called.
 */
export const endPointUrl = bounded('endPointUrl', 2_048, 4_096, z.string().trim())
  .min(1)
  .describe('https address that receives the deliveries; at most 2048 characters, also percent-encoded.');

/**
 * The schemas of an optional attribute in each shape of a webhook. In a patch null removes the attribute; in a registration
 * null means that it is absent.
 * @param given the values that a partner may send
 * @param kept the type alone, without bounds, so that a stored value stays readable after its bounds change
 */
const optional = <Given extends z.ZodType, Kept extends z.ZodType<z.output<Given>>>(
  given: Given,
  kept: Kept,
  meaning: string,
) => ({
  input: given
    .nullish()
    .transform((value) => value ?? undefined)
    .describe(meaning),
  patch: given.nullable().optional().describe(meaning),
  stored: kept.optional(),
  shown: kept.nullable(),
});

/**
 * The attributes that a webhook may lack; each is a text or a number. A new attribute needs only an entry here, because
 * input, patch, stored record, snapshot, details, documents, commands, audit and `OpenedWebhook` are derived from it.
 */
const OPTIONAL = {
  endPointDesc: optional(
    bounded('endPointDesc', 1_000, 3_000),
    z.string(),
    'Description of the endpoint; at most 3000 bytes as JSON in UTF-8.',
  ),
  endPointName: optional(
    bounded('endPointName', 200, 600),
    z.string(),
    'Name of the endpoint; at most 600 bytes as JSON in UTF-8.',
  ),
};
type Optional = typeof OPTIONAL;
type Values<Form extends keyof Optional[keyof Optional]> = {
  [Name in OptionalName]: z.output<Optional[Name][Form]>;
};
export type OptionalName = keyof Optional;
export const OPTIONAL_NAMES = Object.keys(OPTIONAL) as OptionalName[];

/** The optional attributes as members of a zod object. */
export const optionalMembers = <Form extends keyof Optional[keyof Optional]>(
  form: Form,
): { [Name in OptionalName]: Optional[Name][Form] } =>
  Object.fromEntries(OPTIONAL_NAMES.map((name) => [name, OPTIONAL[name][form]])) as {
    [Name in OptionalName]: Optional[Name][Form];
  };

/** The optional attributes of a registered webhook. */
export type Attributes = Partial<Values<'stored'>>;

/** Returns every optional attribute; null for one that the webhook does not have. */
export const shownAttributes = (given: Attributes): Values<'shown'> =>
  Object.fromEntries(OPTIONAL_NAMES.map((name) => [name, given[name] ?? null])) as Values<'shown'>;

/**
 * Returns the optional attributes that `given` contains. An attribute that is null is to be removed; it is returned as null.
 */
export const namedAttributes = <Given extends { readonly [Name in OptionalName]?: unknown }>(given: Given) =>
  Object.fromEntries(OPTIONAL_NAMES.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]]))) as {
    [Name in OptionalName]?: Exclude<Given[Name], undefined>;
  };

export const WebhookId = z
  .guid()
  .transform((id) => id.toLowerCase())
  .describe('Identifier of the webhook, in either letter case.');

const OF_INTEREST = 'Event type of interest.';
/** An event type for which webhooks may exist already, even if it is archived. */
export const EventTypeName = eventTypeName('known').describe(OF_INTEREST);

const attributes = {
  eventType: eventTypeName('registrable').describe(OF_INTEREST),
  endPointUrl,
  ...optionalMembers('input'),
  ...credentialMembers,
};

/** A registration by a partner. `@relay/egress` decides whether its URL is a permitted destination. */
export const WebhookInput = z
  .object(attributes)
  .check(oneCredential)
  .meta({
    id: 'WebhookInput',
    description: 'A webhook to register, with exactly one credential for its endpoint.',
    ...exactlyOneShape,
  });
export type WebhookInput = z.infer<typeof WebhookInput>;

/** Replaces all attributes of a webhook. Without `id`, this is the partner's only webhook for that event type. */
export const WebhookUpdate = z
  .object({ ...attributes, eventType: EventTypeName, id: WebhookId.optional() })
  .check(oneCredential)
  .meta({
    id: 'WebhookUpdate',
    description: 'All attributes of a webhook anew; what is left out is removed.',
    ...exactlyOneShape,
  });
export type WebhookUpdate = z.infer<typeof WebhookUpdate>;

export const DeleteInput = z
  .object({ eventType: EventTypeName, id: WebhookId.optional() })
  .meta({ id: 'WebhookDeletion', description: 'The webhook to delete: by id, or the only one of its event type.' });
export type DeleteInput = z.infer<typeof DeleteInput>;

/** The optional body of a listing. Without a credential, the listing is not filtered. */
export const ListInput = z
  .object(credentialMembers)
  .check(atMostOneCredential)
  .meta({
    id: 'WebhookListing',
    description: 'One credential: only the webhooks registered with it are listed.',
    ...atMostOneShape,
  });
export type ListInput = z.infer<typeof ListInput>;

const Shown = z.object({
  id: z.guid(),
  eventType: EventTypeName,
  endPointUrl: z.string(),
  ...optionalMembers('shown'),
});

/** The record of the list operation: exactly these five fields, never a credential. */
export const WebhookRecord = Shown.pick({
  id: true,
  eventType: true,
  endPointUrl: true,
  endPointDesc: true,
  endPointName: true,
}).meta({ id: 'Webhook', description: 'A registration as the list operation returns it.' });
export type WebhookRecord = z.infer<typeof WebhookRecord>;

export const WebhookDetails = Shown.extend({
  status: z.enum(['active', 'parked', 'disabled']).describe('`parked`, `disabled`: deliveries wait, none is dropped.'),
  disabledReason: z
    .string()
    .nullable()
    .describe(
      '`gone`: the endpoint answered 410; `failing`: five days of nothing but failures; `unverified`: the operator wants a test delivery answered 2xx first; `operator`: an operator disabled it; `partner`: its partner disabled it.',
    ),
  waiting: z.number().int().min(0).describe('Deliveries in the queue. A parked webhook has more in the log.'),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  credentialType: z.enum(['apiKey', 'jwt', 'basic']).describe('Which credential the endpoint gets; never its value.'),
}).meta({ id: 'WebhookDetails', description: 'A registration with its state.' });
export type WebhookDetails = z.infer<typeof WebhookDetails>;

/** The attributes that `GET` shows and no patch can change, each with the reason. */
const FIXED = {
  id: 'an id never changes',
  eventType: 'an eventType never changes: register another webhook',
  status: 'POST /webhooks/{id}/enable and /disable change it',
  disabledReason: 'POST /webhooks/{id}/enable and /disable change it',
  waiting: 'the relay counts it',
  createdAt: 'a time of registration never changes',
  updatedAt: 'it is another by now: read the webhook again',
  credentialType: 'it follows from the credential: send apiKey, jwt, or userName with password',
} as const;
type Fixed = keyof typeof FIXED;
const FIXED_NAMES = Object.keys(FIXED) as Fixed[];

/**
 * A credential in a patch replaces the present credential, which may be of another kind. The object is strict, because a
 * misspelt member would otherwise be ignored.
 */
export const WebhookPatch = z
  .strictObject(
    {
      endPointUrl: endPointUrl.optional(),
      ...optionalMembers('patch'),
      ...credentialMembers,
      ...WebhookDetails.pick(
        Object.fromEntries(FIXED_NAMES.map((name) => [name, true])) as Record<Fixed, true>,
      ).partial().shape,
    },
    {
      error: ({ code }) =>
        code === 'unrecognized_keys'
          ? 'is not known here; POST /webhooks/{id}/enable and /disable change the state, /secret/rotate the signing secret'
          : undefined,
    },
  )
  .check(atMostOneCredential)
  .meta({
    id: 'WebhookPatch',
    description:
      'What of a webhook to change; null removes a text, at most one credential replaces the one there is. What else GET shows passes with its present value.',
    ...atMostOneShape,
  });
export type WebhookPatch = z.infer<typeof WebhookPatch>;

/**
 * Returns the members of a patch that differ from present attributes which no patch can change. A client may send back a
 * webhook as it has read it. If its `updatedAt` is still the present one, `waiting` and `status` may differ, because
 * deliveries change them.
 */
export function patchFaults(patch: WebhookPatch, present: WebhookDetails): { pointer: string; detail: string }[] {
  const moves = (name: Fixed): boolean =>
    name === 'waiting' || (name === 'status' && patch.status !== 'disabled' && present.status !== 'disabled');
  return FIXED_NAMES.filter((name) => {
    const given = name === 'id' ? patch.id?.toLowerCase() : patch[name];
    if (given === undefined || given === present[name]) return false;
    return patch.updatedAt !== present.updatedAt || !moves(name);
  }).map((name) => ({ pointer: `/${name}`, detail: FIXED[name] }));
}

export const WebhookReference = z
  .object({ id: z.guid().describe('Identifier of the webhook.') })
  .meta({ id: 'WebhookReference', description: 'The webhook that was registered, updated or deleted.' });
export type WebhookReference = z.infer<typeof WebhookReference>;

export const SigningSecret = z
  .object({ secret: z.string().describe('`whsec_` and 32 random bytes in base64, the format of Standard Webhooks.') })
  .meta({ id: 'SigningSecret', description: 'What deliveries to this webhook are signed with.' });
export type SigningSecret = z.infer<typeof SigningSecret>;
