import { createHash } from 'node:crypto';
import { z } from 'zod';

// How the generated files are made and checked. Not part of the package's index: scripts/docs.mjs and a spec use it.

const OpenApi = z.object({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({ operationId: z.string(), security: z.array(z.record(z.string(), z.array(z.string()))).optional() }),
    ),
  ),
});

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

/**
 * The first lines of a generated file: of which document it was made and what followed then. They do not fit a file
 * that was made of another document or changed by hand.
 */
export function generatedHead(openApi: string, body: string): string {
  return [
    '// Made from docs/openapi.json by @hey-api/openapi-ts: `npx node scripts/docs.mjs` makes it anew. Do not edit.',
    `// of document ${digest(openApi)}`,
    `// as content ${digest(body)}`,
  ].join('\n');
}

/** The text of operations.gen.ts: every operation that takes an access token, with its types and its method and path. */
export function operationsFile(document: unknown): string {
  const operations = Object.entries(OpenApi.parse(document).paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId, security }]) => ({ path, method, operationId, security })),
    )
    .filter(({ security }) => security?.some((scheme) => 'token' in scheme) ?? false)
    .map(({ path, method, operationId }) => ({ path, method, name: operationId, type: pascal(operationId) }));
  const imported = operations.flatMap(({ type }) => [`  ${type}Data,`, `  ${type}Responses,`]);
  return [
    '// Made from docs/openapi.json: `npx node scripts/docs.mjs` makes it anew. Do not edit.',
    'import type {',
    ...imported.toSorted(),
    "} from './api.gen.js';",
    '',
    '/** What each operation takes and answers. */',
    'export interface Operations {',
    ...operations.map(
      ({ name, type, method }) => `  ${name}: { data: ${dataOf(type, method)}; responses: ${type}Responses };`,
    ),
    '}',
    '',
    '/** Method and path of each operation. */',
    'export const OPERATIONS = {',
    ...operations.map(({ name, method, path }) => `  ${name}: ['${method.toUpperCase()}', '${path}'],`),
    '} as const satisfies Record<keyof Operations, readonly [method: string, path: string]>;',
    '',
  ].join('\n');
}

const pascal = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);
// fetch sends no body with GET; the one listing that takes one is for callers without a token.
const dataOf = (type: string, method: string): string =>
  method === 'get' ? `Omit<${type}Data, 'body'>` : `${type}Data`;
