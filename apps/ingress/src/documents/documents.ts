import { hash } from 'node:crypto';
import type { Type } from '@nestjs/common';
import { asyncApi, type TopicFacts } from './asyncapi.js';
import { docsPage, STYLE } from './docs-page.js';
import { jsonSchemas } from './json-schemas.js';
import { openApi } from './openapi.js';
import { routesOf } from './routes.js';
import type { Schema } from './schema-book.js';

/** Everything the relay publishes about itself, made once. */
export interface Documents {
  readonly openApi: Schema;
  readonly asyncApi: Schema;
  readonly page: string;
  /** Lets the page's own style in and nothing else. */
  readonly pagePolicy: string;
  readonly schemas: Readonly<Record<string, Schema>>;
}

export function documentsOf(controllers: readonly Type[], facts: TopicFacts): Documents {
  const document = openApi(routesOf(controllers), facts);
  return {
    openApi: document,
    asyncApi: asyncApi(facts),
    page: docsPage(document),
    pagePolicy: `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; frame-ancestors 'none'`,
    schemas: jsonSchemas(facts.publicUrl),
  };
}
