import { NOTICE_TYPES } from '@relay/events';
import { credentialMembers } from '@relay/webhooks';
import { z } from 'zod';

const eventType = z.enum(NOTICE_TYPES);

export const NewNotices = z
  .strictObject({
    url: z.string().trim().min(1).max(2_048).describe('Address that gets the notices.'),
    types: z
      .array(eventType)
      .min(1)
      .max(NOTICE_TYPES.length)
      .default([...NOTICE_TYPES])
      .describe('Only these.'),
    apiKey: credentialMembers.apiKey.describe('Sent to the address as `x-api-key`; made if none is given.'),
  })
  .meta({ id: 'NewNotices', description: "An operators' address for notices about all partners' webhooks." });
export type NewNotices = z.infer<typeof NewNotices>;

export const AddedNotices = z
  .object({
    webhooks: z.array(
      z.object({
        id: z.string(),
        eventType,
        secret: z.string().describe('Its signing secret, shown this once.'),
        apiKey: z.string().optional().describe('Only if the relay made it.'),
      }),
    ),
    existing: z.array(eventType).describe('Types that the address gets already.'),
  })
  .meta({ id: 'AddedNotices', description: 'One webhook of the operators for each type.' });
export type AddedNotices = z.infer<typeof AddedNotices>;
