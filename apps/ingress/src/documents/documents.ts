import { hash } from 'node:crypto';
import type { Type } from '@nestjs/common';
import {
  AttemptRecord,
  Envelope,
  EnvelopeHeaders,
  Notice,
  NoticeHeaders,
  OperationsRecord,
  PAYLOADS,
} from '@relay/events';
import { openApi, routesOf } from '@relay/openapi';
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

/** Returns self-contained JSON Schemas (2020-12) by name, for validators and generators that do not read OpenAPI. */
function jsonSchemas(publicUrl: string): Map<string, Buffer> {
  const entries = [
    ...Object.entries(TAKEN).map(([name, schema]) => [name, z.toJSONSchema(schema, { io: 'input' })] as const),
    ...Object.entries(WRITTEN).map(([name, schema]) => [name, z.toJSONSchema(schema, { io: 'output' })] as const),
  ];
  return new Map(
    entries.map(([name, schema]) => [`${name}.json`, bytesOf({ $id: `${publicUrl}/schemas/${name}.json`, ...schema })]),
  );
}

/** All published documents, as bytes that every answer shares: they are the largest answers without authentication. */
export class Documents {
  readonly openApi: Buffer;
  readonly asyncApi: Buffer;
  readonly eventTypes: Buffer;
  readonly page: Buffer;
  readonly schemas: ReadonlyMap<string, Buffer>;
  /** Content security policy that permits only the page’s own style. */
  readonly pagePolicy = `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; frame-ancestors 'none'`;

  constructor(controllers: readonly Type[], facts: TopicFacts) {
    const document = openApi(routesOf(controllers), facts, ingressApi(facts.publicUrl));
    this.openApi = bytesOf(document);
    this.asyncApi = bytesOf(asyncApi(facts));
    this.eventTypes = bytesOf(eventCatalogue(facts.publicUrl, facts.topicPrefix));
    this.page = Buffer.from(docsPage(document));
    this.schemas = jsonSchemas(facts.publicUrl);
  }
}

const bytesOf = (document: object): Buffer => Buffer.from(JSON.stringify(document));
