import { type CustomDecorator, RequestMethod, SetMetadata, type Type } from '@nestjs/common';
import { HTTP_CODE_METADATA, METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { withNames } from '@relay/events';
import type { AccessRule, PortalRule } from '@relay/access';
import { DEFAULT_TYPES, rulesOf } from '@relay/http';
import { scopeOfRole } from '@relay/identity';
import type { ProblemCode } from '@relay/problem';
import { z } from 'zod';

/** Texts of an API as a whole. */
export interface ApiParts {
  readonly title: string;
  readonly summary: string;
  readonly description: string;
  /** Base URL of the paths; by default the public address of the relay. */
  readonly server?: string;
  /** All tags that operations may have. */
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly securitySchemes: Schema;
  /** Errors of the routes at which clients authenticate (RFC 6749), with an example for each status. */
  readonly oauthErrors?: { readonly schema: z.ZodType; readonly examples: Readonly<Record<number, unknown>> };
  /** Requests that the app itself sends, and the components to which their descriptions refer. */
  readonly sent?: (book: SchemaBook) => {
    readonly webhooks: Schema;
    readonly parameters: Schema;
    readonly responses: Schema;
  };
}

/** The zod schema with which the code validates or builds a value, and an example of the value. */
export interface Content {
  readonly schema: z.ZodType;
  readonly example?: unknown;
}

/** Texts of an operation. Path, method, status, media types and access come from the decorators that enforce them. */
export interface OperationText {
  /** Name of the operation in generated clients. */
  readonly id: string;
  /** Name of a tag of the app (`ApiParts`). */
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Every parameter in the path. */
  readonly path?: Readonly<Record<string, Content>>;
  /** One object with a member for each parameter. */
  readonly query?: z.ZodObject;
  readonly headers?: z.ZodObject;
  /** One content for all media types, or a content for each media type; undefined if the handler reads no body. */
  readonly body?: { readonly isRequired: boolean } & (Content | { readonly byType: Readonly<Record<string, Content>> });
  /** The answer on success. `mediaType` is `application/json` by default. An answer without `content` has no body. */
  readonly answer: {
    readonly description: string;
    readonly mediaType?: string;
    readonly content?: Content;
    readonly headers?: Readonly<Record<string, string>>;
  };
  /** Descriptions of the pages (`text/html`) that are answered with other statuses. */
  readonly pages?: Readonly<Record<number, string>>;
  /** Problems of this operation alone. The problems of guards, bodies and HTTP are added automatically. */
  readonly problems?: readonly ProblemCode[];
}

/** Returns a success answer that has a body. */
export const answerOf = (description: string, schema: z.ZodType, example?: unknown) => ({
  description,
  content: { schema, ...(example === undefined ? {} : { example }) },
});

/** Returns a success answer with one page of a list. */
export const listOf = (description: string, schema: z.ZodType, example?: unknown) => ({
  ...answerOf(description, schema, example),
  headers: LINK,
});

/** Header of an answer with one page of a list. */
const LINK = { Link: 'The next page, as `rel="next"` (RFC 8288), if there is one.' };

const OPERATION = Symbol('relay.operation');

/** Returns the operations of one tag, by their names in generated clients. */
export const operationsOf = <Id extends string>(
  tag: string,
  texts: Readonly<Record<Id, Omit<OperationText, 'id' | 'tag'>>>,
): Readonly<Record<Id, OperationText>> =>
  Object.fromEntries(
    Object.entries<Omit<OperationText, 'id' | 'tag'>>(texts).map(([id, text]) => [id, { id, tag, ...text }]),
  ) as Record<Id, OperationText>;

/** Documents a handler. A spec fails if a handler has no such decorator. */
export const Operation = (text: OperationText): CustomDecorator<symbol> => SetMetadata(OPERATION, text);

/** A route as its decorators describe it. */
export interface Route {
  readonly method: string;
  /** Path in Nest's form, such as `/webhooks/:id`. */
  readonly path: string;
  readonly status: number;
  readonly access: AccessRule['kind'];
  readonly scopes: readonly string[];
  /** Access that a portal token must permit; undefined if the route accepts no portal token. */
  readonly portal: PortalRule | undefined;
  readonly mediaTypes: readonly string[];
  /** Whether the handler obeys `If-Match`. */
  readonly hasVersions: boolean;
  /** Texts of the operation; undefined if the route is not documented. */
  readonly text: OperationText | undefined;
}

type Handler = (...args: never[]) => unknown;

/** Returns every route of these controllers. */
export const routesOf = (controllers: readonly Type[]): Route[] => controllers.flatMap(routesOfController);

function routesOfController(controller: Type): Route[] {
  const prototype = controller.prototype as Record<string, Handler>;
  return Object.getOwnPropertyNames(prototype).flatMap((name) => {
    const handler = prototype[name];
    const method = handler && (metadata(METHOD_METADATA, handler) as RequestMethod | undefined);
    return handler === undefined || method === undefined ? [] : [routeOf(controller, handler, method)];
  });
}

function routeOf(controller: Type, handler: Handler, method: RequestMethod): Route {
  const { access = { kind: 'public' }, body, portal, hasVersions = false } = rulesOf(handler);
  const parts = [metadata(PATH_METADATA, controller), metadata(PATH_METADATA, handler)] as string[];
  const usual = method === RequestMethod.POST ? 201 : 200;
  return {
    method: RequestMethod[method] ?? '',
    path: `/${parts
      .flatMap((part) => part.split('/'))
      .filter((part) => part !== '')
      .join('/')}`,
    status: (metadata(HTTP_CODE_METADATA, handler) as number | undefined) ?? usual,
    access: access.kind,
    scopes: scopesOf(access),
    portal,
    mediaTypes: body?.types ?? DEFAULT_TYPES,
    hasVersions,
    text: metadata(OPERATION, handler) as OperationText | undefined,
  };
}

function scopesOf(access: AccessRule): readonly string[] {
  if (access.kind === 'source') return ['deliveries:write'];
  if (access.kind === 'operator') return [scopeOfRole(access.role)];
  return 'scopes' in access ? access.scopes : [];
}

const metadata = (key: string | symbol, target: object): unknown => Reflect.getMetadata(key, target);

export type Schema = Readonly<Record<string, unknown>>;

/**
 * Makes JSON Schemas of zod schemas and collects the named ones. The schema of an `input` permits unknown members. In the
 * schema of an `output`, every member is present.
 */
export class SchemaBook {
  readonly #named = new Map<string, Schema>();

  constructor(
    private readonly target: 'draft-2020-12' | 'draft-7',
    /** Prefix of references to named schemas, such as `#/components/schemas/`. */
    private readonly place: string,
  ) {}

  /** The named schemas, in alphabetical order. */
  get named(): Record<string, Schema> {
    return Object.fromEntries([...this.#named].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** @throws Error if two different schemas have the same name, or if a schema has no JSON Schema */
  of(schema: z.ZodType, io: 'input' | 'output'): Schema {
    const {
      $schema: _,
      $defs,
      definitions,
      ...root
    } = this.#moved(z.toJSONSchema(schema, { target: this.target, io, override: withNames }));
    for (const [name, shape] of Object.entries({ ...asObject($defs), ...asObject(definitions) })) {
      const known = this.#named.get(name);
      if (known !== undefined && JSON.stringify(known) !== JSON.stringify(shape))
        throw new Error(`The schema ${name} has two shapes: give what is taken and what is answered a name each`);
      this.#named.set(name, asObject(shape));
    }
    return root;
  }

  #moved(schema: unknown): Record<string, unknown> {
    const text = JSON.stringify(schema).replaceAll(/"#\/(?:\$defs|definitions)\//g, `"${this.place}`);
    return asObject(JSON.parse(text));
  }
}

const asObject = (value: unknown): Record<string, unknown> => (value ?? {}) as Record<string, unknown>;
