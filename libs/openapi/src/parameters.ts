import type { z } from 'zod';
import type { OperationText } from './operation.decorator.js';
import type { Schema, SchemaBook } from './schema-book.js';

/** The parameters of one operation, those in the path first. */
export function parametersOf({ path = {}, query, headers }: OperationText, book: SchemaBook): Schema[] {
  const inPath = Object.entries(path).map(([name, { schema, example }]) =>
    parameter(name, 'path', true, book.of(schema, 'input'), example),
  );
  return [...inPath, ...membersOf('query', query, book), ...membersOf('header', headers, book)];
}

/** One parameter for each member. */
export function membersOf(place: string, schema: z.ZodObject | undefined, book: SchemaBook): Schema[] {
  if (schema === undefined) return [];
  const { properties, required } = book.of(schema, 'input');
  return Object.entries(properties as Record<string, Schema>).map(([name, member]) =>
    parameter(name, place, Array.isArray(required) && required.includes(name), member),
  );
}

/** A parameter is described beside its schema. */
const parameter = (
  name: string,
  place: string,
  required: boolean,
  { description, ...schema }: Schema,
  example?: unknown,
): Schema => ({ name, in: place, required, description, schema, example });
