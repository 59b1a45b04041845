import { readFileSync } from 'node:fs';
import { OPERATIONS } from './operations.gen.js';

interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, { readonly content?: object }>>;
  readonly security?: readonly Record<string, unknown>[];
}

const text = readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8');
const { paths } = JSON.parse(text) as { paths: Record<string, Record<string, Operation>> };

describe('the operations of the client', () => {
  it('are those of docs/openapi.json that take a token and answer at once', () => {
    const documented = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, { security }]) => security?.some((scheme) => 'token' in scheme))
        .filter(([, { responses }]) => !('text/event-stream' in (responses['200']?.content ?? {})))
        .map(([method, { operationId }]) => [operationId, [method.toUpperCase(), path]] as const),
    );
    expect(documented.length).toBeGreaterThan(20);
    expect(OPERATIONS).toEqual(Object.fromEntries(documented));
  });
});
