import { readFileSync } from 'node:fs';
import specs from '@asyncapi/specs';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Ajv, type AnySchema } from 'ajv';

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
        // A sign-in leads the browser on by 303 alone.
        'operation-2xx-response': 'off',
      },
    });
    const found = await lintFromString({ source, absoluteRef: name, config });
    return found.map(({ ruleId, message, location: [at] }) => `${ruleId}: ${message} ${at?.pointer ?? ''}`);
  };

  it("keeps Redocly's strict rules", async () => {
    expect(await lint(read(name))).toEqual([]);
  });

  it('breaks a rule with a reference to nothing', async () => {
    const broken = read(name).replace('"#/components/schemas/', '"#/components/schemas/Absent');
    expect(await lint(broken)).toEqual([expect.stringContaining("no-unresolved-refs: Can't resolve $ref")]);
  });
});

describe('/asyncapi.json', () => {
  type Found = Readonly<Record<string, unknown>> & { readonly asyncapi: keyof typeof specs.schemas };
  const faultsIn = (source: string): string[] => {
    const document = JSON.parse(source) as Found;
    // The schema brings its own copy of JSON Schema's.
    const ajv = new Ajv({ meta: false, validateSchema: false, strict: false, validateFormats: false, allErrors: true });
    void ajv.validate(specs.schemas[document.asyncapi] as AnySchema, document);
    return (ajv.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  };

  it("follows AsyncAPI's JSON Schema", () => {
    expect(faultsIn(read('asyncapi.json'))).toEqual([]);
  });

  it('does not follow it once an address has the wrong type', () => {
    const broken = read('asyncapi.json').replace(/"address": "[^"]*"/, '"address": 7');
    expect(faultsIn(broken)).toContainEqual(expect.stringMatching(/\/address must be/));
  });

  it('refers to nothing that is absent', () => {
    const document: unknown = JSON.parse(read('asyncapi.json'));
    const absent: string[] = [];
    JSON.stringify(document, (key, value: unknown) => {
      if (key === '$ref' && typeof value === 'string' && at(document, value) === undefined) absent.push(value);
      return value;
    });
    expect(absent).toEqual([]);
  });
});

/** What a JSON Pointer behind `#` leads to. */
const at = (document: unknown, reference: string): unknown =>
  reference
    .slice(2)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((found, part) => (found as Record<string, unknown> | undefined)?.[part], document);
