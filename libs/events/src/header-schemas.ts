import { z } from 'zod';
import { EVENT_TYPES } from './event-type.js';
import { NOTICE_TYPES } from './notice-type.js';

/** Headers of an envelope's record: CloudEvents 1.0 in binary mode, and what the relay adds. Each is UTF-8 text. */
export const EnvelopeHeaders = z
  .object({
    ce_specversion: z.literal('1.0'),
    ce_id: z.guid().describe("The envelope's id, in lower case; the same on a repeated record."),
    ce_type: z.enum(EVENT_TYPES),
    ce_source: z.string().describe('Source of the CloudEvent that was sent, else the public address of the relay.'),
    ce_time: z.iso.datetime().describe('When the relay accepted it.'),
    'content-type': z.literal('application/json'),
    'relay-source': z.string().describe('Client id of the source that sent it.'),
    traceparent: z.string().optional().describe('W3C Trace Context.'),
    'relay-event-time': z.string().optional().describe('Time of the CloudEvent that was sent, by its producer.'),
    'relay-partner': z.string().optional().describe('Client ids of the only partners it is for, joined by commas.'),
  })
  .meta({ id: 'EnvelopeHeaders' });
export type EnvelopeHeaders = z.infer<typeof EnvelopeHeaders>;

/** Headers of a notice's record. */
export const NoticeHeaders = EnvelopeHeaders.extend({
  ce_type: z.enum(NOTICE_TYPES),
  ce_source: z.literal('partner-relay'),
  ce_time: z.iso.datetime().describe('When the relay told it.'),
  'relay-source': z.literal('relay'),
  'relay-partner': z.string().describe('Client id of the partner whose webhook it is about, and `operators`.'),
}).meta({ id: 'NoticeHeaders' });
export type NoticeHeaders = z.infer<typeof NoticeHeaders>;

/** Headers of a poison record: one that is no envelope. */
export const PoisonHeaders = z
  .object({
    'relay-reason': z.string().describe('Why the record is not an envelope.'),
    'relay-topic': z.string().describe('Where it was found.'),
    'relay-partition': z.string().regex(/^\d+$/),
    'relay-offset': z.string().regex(/^\d+$/),
    'relay-truncated': z
      .string()
      .regex(/^\d+$/)
      .optional()
      .describe('Length of the record in bytes, if it was too large to be stored whole.'),
  })
  .meta({ id: 'PoisonHeaders' });
export type PoisonHeaders = z.infer<typeof PoisonHeaders>;
