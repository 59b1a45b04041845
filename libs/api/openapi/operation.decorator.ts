import { SetMetadata, type CustomDecorator } from '@nestjs/common';
import type { ProblemCode } from '@relay/problem';
import type { z } from 'zod';
import type { Schema, SchemaBook } from './schema-book.js';

/** Texts of an API as a whole. */
export interface ApiParts {
  readonly title: string;
  readonly summary: string;
  readonly description: string;
  /** Base URL of the paths; default: the public address. */
  readonly server?: string;
  /** All tags that operations may have. */
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly securitySchemes: Schema;
  /** Errors of the routes that authenticate clients (RFC 6749), with an example for each status. */
  readonly oauthErrors?: { readonly schema: z.ZodType; readonly examples: Readonly<Record<number, unknown>> };
  /** Requests that the app sends, and the components to which they refer. */
  readonly sent?: (book: SchemaBook) => {
    readonly webhooks: Schema;
    readonly parameters: Schema;
    readonly responses: Schema;
  };
}

/** The zod schema by which the code validates or builds a value, and an example of the value. */
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
  /** One content for every media type, or one by media type; undefined if the handler reads no body. */
  readonly body?: { readonly isRequired: boolean } & (Content | { readonly byType: Readonly<Record<string, Content>> });
  /** The answer on success; `mediaType` is `application/json` by default. Without `content` the answer has no body. */
  readonly answer: {
    readonly description: string;
    readonly mediaType?: string;
    readonly content?: Content;
    readonly headers?: Readonly<Record<string, string>>;
  };
  /** Problems of this operation alone. Problems of guards, bodies and HTTP are added automatically. */
  readonly problems?: readonly ProblemCode[];
}

/** The header of a list in pages. */
export const LINK = { Link: 'The next page, as `rel="next"` (RFC 8288), if there is one.' };

export const OPERATION = Symbol('relay.operation');

/** Returns operations of one tag, by their names in generated clients. */
export const operationsOf = <Id extends string>(
  tag: string,
  texts: Readonly<Record<Id, Omit<OperationText, 'id' | 'tag'>>>,
): Readonly<Record<Id, OperationText>> =>
  Object.fromEntries(
    Object.entries<Omit<OperationText, 'id' | 'tag'>>(texts).map(([id, text]) => [id, { id, tag, ...text }]),
  ) as Record<Id, OperationText>;

/** Documents a handler. A handler without it fails a spec. */
export const Operation = (text: OperationText): CustomDecorator<symbol> => SetMetadata(OPERATION, text);
