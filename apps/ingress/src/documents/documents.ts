import { hash } from 'node:crypto';
import type { Type } from '@nestjs/common';
import { openApi, routesOf } from '@relay/openapi';
import { asyncApi, type TopicFacts } from './asyncapi.js';
import { docsPage, STYLE } from './docs-page.js';
import { eventCatalogue } from './event-catalogue.js';
import { jsonSchemas } from './json-schemas.js';
import { ingressApi } from './ingress-api.js';

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
