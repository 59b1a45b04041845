// The generated half of libs/clients, which is not in the repository: the types of the API by Hey API's generator, and the table of
// operations.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { node24, root } from './paths.mjs';
import { run } from './process.mjs';

const inGenerator = (...names) => join(root, 'node_modules', '@hey-api', 'openapi-ts', ...names);
const read = (path) => readFileSync(path, 'utf8');

/** The documents that clients are made of, and the libs that get them. */
const APIS = [
  { name: 'openapi.json', lib: 'client' },
  { name: 'operations.openapi.json', lib: 'operations-client' },
];

/** Writes the files of each lib when its document, the generator or this script has changed. */
export async function clientApi(signal) {
  for (const { name, lib } of APIS) await generate(name, join(root, 'libs', 'clients', lib), signal);
}

async function generate(name, target, signal) {
  const document = join(root, 'docs', name);
  const sources = [document, inGenerator('package.json'), fileURLToPath(import.meta.url)].map(read);
  const digest = createHash('sha256').update(sources.join('\n')).digest('hex');
  const head = `// Made from docs/${name} by scripts/lib/client-api.mjs. ${digest}\n`;
  const files = ['api.gen.ts', 'operations.gen.ts'].map((file) => join(target, file));
  if (files.every((path) => existsSync(path) && read(path).startsWith(head))) return;
  const scratch = join(root, '.relay');
  mkdirSync(scratch, { recursive: true });
  const folder = mkdtempSync(join(scratch, 'client-api-'));
  try {
    const texts = [await apiTypes(document, folder, signal), operationTable(JSON.parse(sources[0]))];
    files.forEach((path, index) => {
      const made = join(folder, 'made');
      writeFileSync(made, `${head}${texts[index]}`);
      renameSync(made, path); // another process may be reading it
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function apiTypes(document, folder, signal) {
  const args = ['--input', document, '--output', folder, '--plugins', '@hey-api/typescript', '--no-log-file'];
  // A plain `npm ci` runs no scripts, so that the Node of the repository may not be there yet.
  const node = existsSync(node24) ? node24 : process.execPath;
  await run(node, [inGenerator('bin', 'run.js'), ...args], { cwd: root, signal, capture: true });
  // Operators add event types, so a client takes every text and completes those that there are.
  return read(join(folder, 'types.gen.ts')).replaceAll(/'task\.created'(?: \| '[\w.]+')+/g, '$& | (string & {})');
}

/**
 * The operations that can succeed at once, with their types and their method and path: those that take an access token, and
 * apart from them those that anyone may call and that answer JSON.
 */
function operationTable({ paths }) {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { responses }]) => Object.keys(responses).some((status) => status.startsWith('2')))
      .filter(([, { responses }]) => responses['200']?.content?.['text/event-stream'] === undefined)
      .map(([method, { operationId: name, security = [], responses }]) => ({
        path,
        method,
        name,
        type: name[0].toUpperCase() + name.slice(1),
        takesToken: security.some((scheme) => 'token' in scheme),
        isPublic: security.length === 0 && answersJson(responses),
      })),
  );
  return [
    "import type * as Api from './api.gen.js';",
    ...tableOf(
      'Operations',
      'each operation',
      operations.filter(({ takesToken }) => takesToken),
    ),
    ...tableOf(
      'PublicOperations',
      'each operation that anyone may call',
      operations.filter(({ isPublic }) => isPublic),
    ),
  ].join('\n');
}

const answersJson = (responses) =>
  Object.entries(responses).some(
    ([status, { content = {} }]) => status.startsWith('2') && 'application/json' in content,
  );

function tableOf(name, what, operations) {
  // fetch sends no body with GET; the one listing that takes one is for callers without a token.
  const dataOf = ({ type, method }) => (method === 'get' ? `Omit<Api.${type}Data, 'body'>` : `Api.${type}Data`);
  return [
    '',
    `/** Input and answers of ${what}. */`,
    `export interface ${name} {`,
    ...operations.map((each) => `  ${each.name}: { data: ${dataOf(each)}; responses: Api.${each.type}Responses };`),
    '}',
    '',
    `/** Method and path of ${what}. */`,
    `export const ${name.replace(/(?<=[a-z])(?=[A-Z])/, '_').toUpperCase()} = {`,
    ...operations.map(({ name: id, method, path }) => `  ${id}: ['${method.toUpperCase()}', '${path}'],`),
    `} as const satisfies Record<keyof ${name}, readonly [method: string, path: string]>;`,
    '',
  ];
}
