import { z } from 'zod';
import { EventCatalogue } from './event-catalogue.js';
import type { OperationText } from '@relay/openapi';

const tag = 'Documents';
const document = z.looseObject({}).describe('The document.');

const reading = (id: string, summary: string, mediaType: string, schema: z.ZodType): OperationText => ({
  id,
  tag,
  summary,
  answer: { description: 'The document.', mediaType, content: { schema } },
});

export const readOpenApi = reading('readOpenApi', 'This document', 'application/json', document);
export const readAsyncApi = reading('readAsyncApi', 'The Kafka topics (AsyncAPI 3)', 'application/json', document);
export const readDocs = reading('readDocs', 'This document for people', 'text/html', z.string());
export const readErrors = reading('readErrors', 'What each error means', 'text/markdown', z.string());

export const readEventTypes: OperationText = {
  id: 'readEventTypes',
  tag,
  summary: 'The event types that webhooks can be registered for',
  answer: { description: 'All event types.', content: { schema: EventCatalogue } },
};

export const readSchema: OperationText = {
  ...reading('readSchema', 'One JSON Schema', 'application/schema+json', document),
  path: {
    name: {
      schema: z.string().describe('Name of the schema, as in this document, and `.json`.'),
      example: 'Envelope.json',
    },
  },
  problems: ['not-found'],
};
