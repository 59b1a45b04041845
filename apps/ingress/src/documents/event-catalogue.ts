import {
  Envelope,
  ENVELOPE_TYPES,
  EVENT_MEANINGS,
  examplePayload,
  isNoticeType,
  Notice,
  NOTICE_MEANINGS,
  payloadSchemaOf,
  topicOf,
  type EnvelopeType,
} from '@relay/events';
import { z } from 'zod';

/** Returns an example envelope of this type, for the documents and test deliveries. */
export const exampleOf = (type: EnvelopeType) => ({
  id: '6f1e2d3c-4b5a-4968-8776-655443322110',
  type,
  payload: examplePayload(type),
});

const EventTypeFacts = z
  .object({
    name: z.enum(ENVELOPE_TYPES),
    description: z.string().describe('What an event of this type says.'),
    sentBy: z
      .enum(['sources', 'relay'])
      .describe('`relay`: a notice about one of your own webhooks, which no source can send.'),
    topic: z.string().describe('The Kafka topic that has its envelopes.'),
    payloadSchema: z.url().nullable().describe('JSON Schema of the payload; `null` if it is any object.'),
    sample: z.union([Envelope, Notice]).describe('An envelope as your endpoint receives it.'),
  })
  .meta({ id: 'EventType', description: 'A type of event to which a webhook can be registered.' });

export const EventCatalogue = z.object({ eventTypes: z.array(EventTypeFacts) }).meta({
  id: 'EventCatalogue',
  description: 'All event types: those of sources in the order of the platform, then those of the relay.',
});

/** Returns all event types for which a partner can register. */
export const eventCatalogue = (publicUrl: string, topicPrefix: string): z.infer<typeof EventCatalogue> => ({
  eventTypes: ENVELOPE_TYPES.map((name) => {
    const schema = payloadSchemaOf(name);
    return {
      name,
      description: isNoticeType(name) ? NOTICE_MEANINGS[name] : EVENT_MEANINGS[name],
      sentBy: isNoticeType(name) ? 'relay' : 'sources',
      topic: topicOf(topicPrefix, name),
      payloadSchema: schema === undefined ? null : `${publicUrl}/schemas/${schema}.json`,
      sample: exampleOf(name) as z.infer<typeof EventTypeFacts>['sample'],
    };
  }),
});
