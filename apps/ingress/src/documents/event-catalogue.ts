import {
  Envelope,
  EVENT_MEANINGS,
  eventTypeName,
  eventTypes,
  examplePayload,
  isEventType,
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
    name: eventTypeName('registrable'),
    description: z.string().describe('What an event of this type says.'),
    sentBy: z
      .enum(['sources', 'relay'])
      .describe('`relay`: a notice about one of your own webhooks, which no source can send.'),
    topic: z.string().describe('The Kafka topic that has its envelopes.'),
    payloadSchema: z.url().nullable().describe('JSON Schema of the payload; `null` if it is any object.'),
    deprecated: z
      .object({ use: z.string().optional().describe('The type to use instead.') })
      .optional()
      .describe('Set if the type is deprecated.'),
    sample: z.union([Envelope, Notice]).describe('An envelope as your endpoint receives it.'),
  })
  .meta({ id: 'EventType', description: 'A type of event to which a webhook can be registered.' });

export const EventCatalogue = z.object({ eventTypes: z.array(EventTypeFacts) }).meta({
  id: 'EventCatalogue',
  description: 'All event types: those of sources in the order of the platform, then those of the relay.',
});

/** Here `name` is any string, because the OpenAPI document must not list the types that only chosen partners see. */
export const OwnEventTypes = z
  .object({
    eventTypes: z.array(
      EventTypeFacts.extend({
        name: z.string().describe('Its name, for `eventType` of a webhook.'),
        sample: z.looseObject({}).describe('An envelope as your endpoint receives it.'),
      }).meta({ id: 'OwnEventType', description: 'A type of event to which you can register a webhook.' }),
    ),
  })
  .meta({ id: 'OwnEventTypes', description: 'All event types that you see, in the order of `GET /event-types`.' });

/**
 * Returns the path of the schema of the type's payload, without `.json`; undefined if the type has no schema, so that its
 * payload can be any object.
 */
export function schemaPathOf(name: string): string | undefined {
  const applied = eventTypes.applied(name);
  if (applied === undefined) return payloadSchemaOf(name);
  return applied.schema === undefined ? undefined : `${name}/${applied.revision}`;
}

/**
 * Returns the event types for which every partner can register.
 * @param partnerId adds those of this partner, whose schemas need its token
 */
export const eventCatalogue = (
  publicUrl: string,
  topicPrefix: string,
  partnerId?: string,
): z.infer<typeof EventCatalogue> => ({
  eventTypes: namesFor(partnerId).map((name) => {
    const { deprecated, partners } = eventTypes.applied(name) ?? {};
    const schema = schemaPathOf(name);
    const place = partners === undefined ? `schemas/${schema}.json` : `webhooks/event-types/${name}/schema`;
    const facts: z.infer<typeof EventTypeFacts> = {
      name,
      description: descriptionOf(name),
      sentBy: isNoticeType(name) ? 'relay' : 'sources',
      topic: topicOf(topicPrefix, name),
      payloadSchema: schema === undefined ? null : `${publicUrl}/${place}`,
      sample: exampleOf(name) as z.infer<typeof EventTypeFacts>['sample'],
    };
    // A replacement that the reader does not see stays unnamed.
    if (deprecated !== undefined)
      facts.deprecated = eventTypes.isFor(deprecated.use ?? '', partnerId ?? '') ? deprecated : {};
    return facts;
  }),
});

const namesFor = (partnerId: string | undefined): readonly string[] =>
  partnerId === undefined
    ? eventTypes.shown('registrable')
    : eventTypes.names('registrable').filter((name) => eventTypes.isFor(name, partnerId));

function descriptionOf(name: string): string {
  if (isNoticeType(name)) return NOTICE_MEANINGS[name];
  return isEventType(name) ? EVENT_MEANINGS[name] : (eventTypes.applied(name)?.description ?? '');
}
