import type { z } from 'zod';
import type { Schema, SchemaBook } from './schema-book.js';

/** What an app says of its API as a whole. */
export interface ApiParts {
  readonly title: string;
  readonly summary: string;
  readonly description: string;
  /** Where its paths are, if not at the public address. */
  readonly server?: string;
  /** Every tag of an operation is one of these. */
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly securitySchemes: Schema;
  /** Errors of the routes where clients authenticate (RFC 6749), with an example for each status. */
  readonly oauthErrors?: { readonly schema: z.ZodType; readonly examples: Readonly<Record<number, unknown>> };
  /** What the app sends to others, and the components that this refers to. */
  readonly sent?: (book: SchemaBook) => {
    readonly webhooks: Schema;
    readonly parameters: Schema;
    readonly responses: Schema;
  };
}
