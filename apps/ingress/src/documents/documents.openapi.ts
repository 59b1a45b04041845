import { z } from 'zod';
import { EventCatalogue } from './event-catalogue.js';
import { operationsOf } from '@relay/openapi';

const document = z.looseObject({}).describe('The document.');

const reading = (summary: string, mediaType: string, schema: z.ZodType) => ({
  summary,
  answer: { description: 'The document.', mediaType, content: { schema } },
});
const schemaName = z.string().describe('Name of the schema, as in this document, and `.json`.');

export const operations = operationsOf('Documents', {
  readOpenApi: reading('This document', 'application/json', document),
  readAsyncApi: reading('The Kafka topics (AsyncAPI 3)', 'application/json', document),
  readDocs: reading('This document for people', 'text/html', z.string()),
  readErrors: reading('What each error means', 'text/markdown', z.string()),
  readEventTypes: {
    summary: 'The event types that webhooks can be registered for',
    answer: { description: 'All event types.', content: { schema: EventCatalogue } },
  },
  readSchema: {
    ...reading('One JSON Schema', 'application/schema+json', document),
    path: { name: { schema: schemaName, example: 'Envelope.json' } },
    problems: ['not-found'],
  },
});
