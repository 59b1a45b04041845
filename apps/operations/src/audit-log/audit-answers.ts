import { OPERATIONS_EVENTS, OperationsRecord } from '@relay/events';
import { z } from 'zod';

const moment = z.iso.datetime({ offset: true });

export const AuditQuery = z.strictObject({
  event: z.enum(OPERATIONS_EVENTS).optional().describe('Only this event.'),
  operator: z.string().max(100).optional().describe('Only of this operator, or command.'),
  partner: z.string().max(100).optional().describe('Only of this partner.'),
  webhook: z.string().max(100).optional().describe('Only of this webhook.'),
  until: moment.optional().describe('Only records written before this time.'),
  before: z
    .string()
    .regex(/^\d{1,6}:\d{1,16}(?:,\d{1,6}:\d{1,16})*$/, 'the `before` of an answer is expected')
    .max(300)
    .optional()
    .describe('Only older records than an answer has looked at, as it named them.'),
  limit: z.coerce.number().int().min(1).max(200).default(50).describe('Longest list: 1 to 200.'),
});
export type AuditQuery = z.infer<typeof AuditQuery>;

export const AuditAnswer = z
  .object({
    records: z.array(OperationsRecord),
    before: z
      .string()
      .nullable()
      .describe('The same request with it looks at older records; `null` when there are none.'),
  })
  .meta({ id: 'AuditRecords', description: 'Records of `relay.operations`, newest first.' });
export type AuditAnswer = z.infer<typeof AuditAnswer>;
