import { hash } from 'node:crypto';
import type { Type } from '@nestjs/common';
import { asyncApi, type TopicFacts } from './asyncapi.js';
import { docsPage, STYLE } from './docs-page.js';
import { jsonSchemas } from './json-schemas.js';
import { openApi } from './openapi.js';
import { routesOf } from './routes.js';

/** Everything the relay publishes about itself, as bytes that all answers share: they are the largest that anybody may ask for. */
export interface Documents {
  readonly openApi: Buffer;
  readonly asyncApi: Buffer;
  readonly page: Buffer;
  /** Lets the page's own style in and nothing else. */
  readonly pagePolicy: string;
  readonly schemas: ReadonlyMap<string, Buffer>;
}

export function documentsOf(controllers: readonly Type[], facts: TopicFacts): Documents {
  const document = openApi(routesOf(controllers), facts);
  return {
    openApi: bytesOf(document),
    asyncApi: bytesOf(asyncApi(facts)),
    page: Buffer.from(docsPage(document)),
    pagePolicy: `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; frame-ancestors 'none'`,
    schemas: new Map(
      Object.entries(jsonSchemas(facts.publicUrl)).map(([name, schema]) => [`${name}.json`, bytesOf(schema)]),
    ),
  };
}

const bytesOf = (document: object): Buffer => Buffer.from(JSON.stringify(document));
