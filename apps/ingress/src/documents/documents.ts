import { hash } from 'node:crypto';
import type { Type } from '@nestjs/common';
import { AttemptRecord, Envelope, EnvelopeHeaders, Notice, NoticeHeaders, OperationsRecord, PAYLOADS } from '@relay/events';
import { openApi, routesOf, type Schema } from '@relay/openapi';
import { ProblemBody } from '@relay/problem';
import { WebhookInput, WebhookRecord } from '@relay/webhooks';
import { z } from 'zod';
import { asyncApi, type TopicFacts } from './asyncapi.js';
import { docsPage, STYLE } from './docs-page.js';
import { eventCatalogue } from './event-catalogue.js';
import { ingressApi } from './ingress-api.js';

const TAKEN = { Envelope, Notice, ...PAYLOADS, WebhookInput };
const WRITTEN = {
  AttemptRecord,
  EnvelopeHeaders,
  NoticeHeaders,
  OperationsRecord,
  Problem: ProblemBody,
  Webhook: WebhookRecord,
};

/** Self-contained JSON Schemas (2020-12) by name, for validators and generators that do not read OpenAPI. */
export function jsonSchemas(publicUrl: string): Readonly<Record<string, Schema>> {
  const entries = [
    ...Object.entries(TAKEN).map(([name, schema]) => [name, z.toJSONSchema(schema, { io: 'input' })] as const),
    ...Object.entries(WRITTEN).map(([name, schema]) => [name, z.toJSONSchema(schema, { io: 'output' })] as const),
  ];
  return Object.fromEntries(
    entries.map(([name, schema]) => [name, { $id: `${publicUrl}/schemas/${name}.json`, ...schema }]),
  );
}

/** All published documents as bytes that every answer shares: they are the largest answers that anyone may request. */
export interface Documents {
  readonly openApi: Buffer;
  readonly asyncApi: Buffer;
  readonly eventTypes: Buffer;
  readonly page: Buffer;
  /** Permits the page’s own style and nothing else. */
  readonly pagePolicy: string;
  readonly schemas: ReadonlyMap<string, Buffer>;
}

export function documentsOf(controllers: readonly Type[], facts: TopicFacts): Documents {
  const document = openApi(routesOf(controllers), facts, ingressApi(facts.publicUrl));
  return {
    openApi: bytesOf(document),
    asyncApi: bytesOf(asyncApi(facts)),
    eventTypes: bytesOf(eventCatalogue(facts)),
    page: Buffer.from(docsPage(document)),
    pagePolicy: `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; frame-ancestors 'none'`,
    schemas: new Map(
      Object.entries(jsonSchemas(facts.publicUrl)).map(([name, schema]) => [`${name}.json`, bytesOf(schema)]),
    ),
  };
}

const bytesOf = (document: object): Buffer => Buffer.from(JSON.stringify(document));
