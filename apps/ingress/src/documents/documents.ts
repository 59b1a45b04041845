import { hash } from 'node:crypto';
import type { Type } from '@nestjs/common';
import type { EventTypeStore } from '@relay/event-types';
import {
  AttemptRecord,
  Envelope,
  EnvelopeHeaders,
  eventTypes,
  Notice,
  NoticeHeaders,
  OperationsRecord,
  PAYLOADS,
  withNames,
} from '@relay/events';
import { openApi, routesOf } from '@relay/openapi';
import { ProblemBody } from '@relay/problem';
import { WebhookInput, WebhookRecord } from '@relay/webhooks';
import { z } from 'zod';
import { asyncApi, type AsyncApiFacts } from './asyncapi.js';
import { docsPage, STYLE } from './docs-page.js';
import { eventCatalogue, type OwnEventTypes } from './event-catalogue.js';
import { ingressApi } from './ingress-api.js';

/** All published documents, as bytes that every answer shares: they are the largest answers without authentication. */
interface Built {
  readonly openApi: Buffer;
  readonly asyncApi: Buffer;
  readonly eventTypes: Buffer;
  readonly page: Buffer;
  readonly schemas: ReadonlyMap<string, Buffer>;
}

/** The published documents, built again after a change of the event types. */
export class Documents {
  /** Content security policy that permits only the page’s own style. */
  readonly pagePolicy = `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; frame-ancestors 'none'`;
  #built: Built | undefined;
  #version = -1;

  constructor(
    private readonly controllers: readonly Type[],
    private readonly facts: AsyncApiFacts,
  ) {}

  get now(): Built {
    if (this.#built === undefined || this.#version !== eventTypes.version) {
      this.#version = eventTypes.version;
      this.#built = this.#build();
    }
    return this.#built;
  }

  /** Returns a former schema of an applied type. A type of chosen partners has none, and neither has a revision of that time. */
  async former(types: Pick<EventTypeStore, 'former'>, name: string, file: string): Promise<Buffer | undefined> {
    const revision = Number(/^([1-9]\d{0,8})\.json$/.exec(file)?.[1]);
    const applied = eventTypes.applied(name);
    if (applied === undefined || applied.partners !== undefined || !(revision < applied.revision)) return undefined;
    const { schema, partners } = (await types.former(name, revision)) ?? {};
    if (schema === undefined || partners !== undefined) return undefined;
    return schemaBytes(this.facts.publicUrl, `${name}/${file}`, schema);
  }

  /** Returns the event types that a partner sees. */
  eventTypesFor(partnerId: string): z.infer<typeof OwnEventTypes> {
    return eventCatalogue(this.facts.publicUrl, this.facts.topicPrefix, partnerId);
  }

  #build(): Built {
    const { publicUrl, topicPrefix } = this.facts;
    const document = openApi(routesOf(this.controllers), this.facts, ingressApi(publicUrl));
    return {
      openApi: bytesOf(document),
      asyncApi: bytesOf(asyncApi(this.facts)),
      eventTypes: bytesOf(eventCatalogue(publicUrl, topicPrefix)),
      page: Buffer.from(docsPage(document)),
      schemas: new Map([...jsonSchemas(publicUrl), ...appliedSchemas(publicUrl)]),
    };
  }
}

/** The schemas of applied types, at the place that records and the list of event types name. */
const appliedSchemas = (publicUrl: string): [string, Buffer][] =>
  eventTypes.shown('known').flatMap((name): [string, Buffer][] => {
    const applied = eventTypes.applied(name);
    if (applied?.schema === undefined) return [];
    const path = `${name}/${applied.revision}.json`;
    return [[path, schemaBytes(publicUrl, path, applied.schema)]];
  });

const schemaBytes = (publicUrl: string, path: string, schema: object): Buffer =>
  bytesOf({ ...schema, $id: `${publicUrl}/schemas/${path}` });

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
    ...Object.entries(TAKEN).map(
      ([name, schema]) => [name, z.toJSONSchema(schema, { io: 'input', override: withNames })] as const,
    ),
    ...Object.entries(WRITTEN).map(
      ([name, schema]) => [name, z.toJSONSchema(schema, { io: 'output', override: withNames })] as const,
    ),
  ];
  return new Map(
    entries.map(([name, schema]) => [`${name}.json`, bytesOf({ $id: `${publicUrl}/schemas/${name}.json`, ...schema })]),
  );
}

const bytesOf = (document: object): Buffer => Buffer.from(JSON.stringify(document));
