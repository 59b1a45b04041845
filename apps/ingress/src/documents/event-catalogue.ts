import { Envelope, EVENT_MEANINGS, EVENT_TYPES, payloadSchemaOf, topicOf } from '@relay/events';
import { z } from 'zod';
import type { TopicFacts } from './asyncapi.js';
import { exampleOf } from './example-envelope.js';

const EventTypeFacts = z
  .object({
    name: z.enum(EVENT_TYPES),
    description: z.string().describe('What an event of this type says.'),
    topic: z.string().describe('The Kafka topic that has its envelopes.'),
    payloadSchema: z.url().nullable().describe('JSON Schema of the payload; `null` if it is any object.'),
    sample: Envelope.describe('An envelope as your endpoint receives it.'),
  })
  .meta({ id: 'EventType', description: 'A type of event to which a webhook can be registered.' });

export const EventCatalogue = z
  .object({ eventTypes: z.array(EventTypeFacts) })
  .meta({ id: 'EventCatalogue', description: 'All event types, in the order of the platform.' });

/** What a partner can register for. */
export const eventCatalogue = ({ publicUrl, topicPrefix }: TopicFacts): z.infer<typeof EventCatalogue> => ({
  eventTypes: EVENT_TYPES.map((name) => {
    const schema = payloadSchemaOf(name);
    return {
      name,
      description: EVENT_MEANINGS[name],
      topic: topicOf(topicPrefix, name),
      payloadSchema: schema === undefined ? null : `${publicUrl}/schemas/${schema}.json`,
      sample: exampleOf(name) as z.infer<typeof Envelope>,
    };
  }),
});
