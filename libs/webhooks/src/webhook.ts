import { EVENT_TYPES } from '@relay/events';
import { z } from 'zod';
import { storedBytes } from './stored-bytes.js';
import { atMostOneShape, credentialFaults, credentialMembers, exactlyOneShape, oneCredential } from './credential.js';

export const WebhookId = z
  .guid()
  .transform((id) => id.toLowerCase())
  .describe('Identifier of the webhook, in either letter case.');

export const EventTypeName = z.enum(EVENT_TYPES).describe('Event type of interest.');

/** A text of so many characters that takes no more than so many bytes where it is stored. */
const bounded = (name: string, characters: number, bytes: number) =>
  z
    .string()
    .max(characters)
    .refine((text) => storedBytes(text) <= bytes, `${name} must take at most ${bytes} bytes as JSON in UTF-8`);

const MEANING = {
  endPointUrl: 'https address that receives the deliveries; at most 2048 characters, also percent-encoded.',
  endPointDesc: 'Description of the endpoint; at most 3000 bytes as JSON in UTF-8.',
  endPointName: 'Name of the endpoint; at most 600 bytes as JSON in UTF-8.',
};
const endPointUrl = bounded('endPointUrl', 2_048, 4_096).min(1).describe(MEANING.endPointUrl);
const endPointDesc = bounded('endPointDesc', 1_000, 3_000);
const endPointName = bounded('endPointName', 200, 600);

const optional = (text: z.ZodString, meaning: string) =>
  text
    .nullish()
    .transform((value) => value ?? undefined)
    .describe(meaning);
const attributes = {
  eventType: EventTypeName,
  endPointUrl,
  endPointDesc: optional(endPointDesc, MEANING.endPointDesc),
  endPointName: optional(endPointName, MEANING.endPointName),
  ...credentialMembers,
};

/** The attributes that a patch may name beside a credential; there null is told from absent. */
export const patchedTexts = {
  endPointUrl: endPointUrl.optional(),
  endPointDesc: endPointDesc.nullable().optional().describe(MEANING.endPointDesc),
  endPointName: endPointName.nullable().optional().describe(MEANING.endPointName),
};

/** What a partner registers. Whether the URL is a permitted destination is for `@relay/egress` to say. */
export const WebhookInput = z
  .object(attributes)
  .check(oneCredential)
  .meta({
    id: 'WebhookInput',
    description: 'A webhook to register, with exactly one credential for its endpoint.',
    ...exactlyOneShape,
  });
export type WebhookInput = z.infer<typeof WebhookInput>;

/** All attributes of a webhook anew; without `id` it means the partner's only webhook of that event type. */
export const WebhookUpdate = z
  .object({ ...attributes, id: WebhookId.optional() })
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

/** The body that may come with a listing; without any credential member it filters nothing. */
export const ListInput = z
  .object(credentialMembers)
  .superRefine((given, context) => {
    if (Object.values(given).every((value) => value === undefined)) return;
    for (const { member, detail } of credentialFaults(given))
      context.addIssue({ code: 'custom', path: [member], message: detail });
  })
  .meta({
    id: 'WebhookListing',
    description: 'One credential: only the webhooks registered with it are listed.',
    ...atMostOneShape,
  });
export type ListInput = z.infer<typeof ListInput>;

/** The record of the list operation: exactly these five fields, never a credential. */
export const WebhookRecord = z
  .object({
    id: z.guid(),
    eventType: EventTypeName,
    endPointUrl: z.string(),
    endPointDesc: z.string().nullable(),
    endPointName: z.string().nullable(),
  })
  .meta({ id: 'Webhook', description: 'A registration as the list operation returns it.' });
export type WebhookRecord = z.infer<typeof WebhookRecord>;

export const WebhookReference = z
  .object({ id: z.guid().describe('Identifier of the webhook.') })
  .meta({ id: 'WebhookReference', description: 'The webhook that was registered, updated or deleted.' });
export type WebhookReference = z.infer<typeof WebhookReference>;

export const SigningSecret = z
  .object({ secret: z.string().describe('`whsec_` and 32 random bytes in base64, as Standard Webhooks has it.') })
  .meta({ id: 'SigningSecret', description: 'What deliveries to this webhook are signed with.' });
export type SigningSecret = z.infer<typeof SigningSecret>;
