import { z } from 'zod';
import { atMostOneShape, credentialFaults, credentialMembers } from './credential.js';
import { patchedTexts, WebhookRecord } from './webhook.js';

/** What of a webhook a patch may name; a credential replaces the one there is, of whichever kind. */
export const WebhookPatch = z
  .object({ ...patchedTexts, ...credentialMembers })
  .superRefine((given, context) => {
    const { apiKey, jwt, userName, password } = given;
    if ([apiKey, jwt, userName, password].every((value) => value === undefined)) return;
    for (const { member, detail } of credentialFaults(given))
      context.addIssue({ code: 'custom', path: [member], message: detail });
  })
  .meta({
    id: 'WebhookPatch',
    description: 'What of a webhook to change; null removes a text, at most one credential replaces the one there is.',
    ...atMostOneShape,
  });
export type WebhookPatch = z.infer<typeof WebhookPatch>;

export const WebhookDetails = WebhookRecord.extend({
  status: z.enum(['active', 'parked', 'disabled']).describe('`parked`, `disabled`: nothing is dropped, it waits.'),
  disabledReason: z
    .string()
    .nullable()
    .describe(
      '`gone`: the endpoint answered 410; `failing`: five days of nothing but failures; `unverified`: the operator wants a test delivery answered 2xx first; `operator`: an operator disabled it.',
    ),
  waiting: z.number().int().min(0).describe('Deliveries in the queue. A parked webhook has more in the log.'),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  credentialType: z.enum(['apiKey', 'jwt', 'basic']).describe('Which credential the endpoint gets; never its value.'),
}).meta({ id: 'WebhookDetails', description: 'A registration with its state.' });
export type WebhookDetails = z.infer<typeof WebhookDetails>;
