import { readFileSync } from 'node:fs';
import { Parser } from '@asyncapi/parser';
import { createConfig, lintFromString } from '@redocly/openapi-core';

// What other people's tools make of the documents, as they are in docs/ (a unit spec holds them against the code).
const read = (name: string): string => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');

describe.each(['openapi.json', 'operations.openapi.json'])('%s', (name) => {
  const lint = async (source: string): Promise<string[]> => {
    const config = await createConfig({
      extends: ['recommended-strict'],
      rules: {
        // The specification itself has /auth/{userId}/session; a literal part goes before a parameter here as in Fastify.
        'no-ambiguous-paths': 'off',
        // "None of the three credentials" is said by `not` and `required`, which this rule takes for a misspelt name.
        'no-required-schema-properties-undefined': 'off',
        // 405 is the answer to methods that are not in the document, so that no operation refers to it.
        'no-unused-components': 'off',
      },
    });
    const found = await lintFromString({ source, absoluteRef: name, config });
    return found.map(({ ruleId, message, location: [at] }) => `${ruleId}: ${message} ${at?.pointer ?? ''}`);
  };

  it("has nothing that Redocly's strict rules find", async () => {
    expect(await lint(read(name))).toEqual([]);
  });

  it('would be told of a reference to nothing', async () => {
    const broken = read(name).replace('"#/components/schemas/', '"#/components/schemas/Absent');
    expect(await lint(broken)).toEqual([expect.stringContaining("no-unresolved-refs: Can't resolve $ref")]);
  });
});

describe('/asyncapi.json', () => {
  const parse = async (source: string): Promise<{ operations: number | undefined; found: string[] }> => {
    const { document, diagnostics } = await new Parser().parse(source);
    const found = diagnostics.map(({ code, message, path }) => `${code}: ${message} ${path.join('/')}`);
    return { operations: document?.operations().length, found };
  };

  it('has nothing that the parser of AsyncAPI finds, not even a hint', async () => {
    expect(await parse(read('asyncapi.json'))).toEqual({ operations: expect.any(Number), found: [] });
  });

  it('would be told of a channel without an address of the right type', async () => {
    const { operations, found } = await parse(read('asyncapi.json').replace(/"address": "[^"]*"/, '"address": 7'));
    expect(operations).toBeUndefined();
    expect(found.length).toBeGreaterThan(0);
  });
});
