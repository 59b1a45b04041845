import { readFileSync } from 'node:fs';
import { generatedHead, operationsFile } from './generate.js';

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');
const openApi = read('../../../docs/openapi.json');
const types = read('api.gen.ts');
const body = types.slice(types.indexOf('\n\n') + 2);

// Failing? docs/openapi.json has changed, or a generated file was edited: `npx node scripts/docs.mjs` makes them anew.
describe('the generated types', () => {
  it('are those of docs/openapi.json, unedited', () => {
    expect(types.startsWith(`${generatedHead(openApi, body)}\n\n`)).toBe(true);
  });

  it.each([
    ['another document', `${openApi} `, body],
    ['an edit', openApi, `${body}export type Mine = string;\n`],
  ])('would not pass with %s', (_, document, content) => {
    expect(types.startsWith(`${generatedHead(document, content)}\n\n`)).toBe(false);
  });

  it('name the operations of docs/openapi.json that take a token', () => {
    expect(read('operations.gen.ts')).toBe(operationsFile(JSON.parse(openApi)));
  });
});
