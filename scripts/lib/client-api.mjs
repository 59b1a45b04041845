// The generated half of libs/client: types of the API by Hey API's generator, and beside them the table of operations.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generatedHead, operationsFile } from '../../libs/client/src/generate.ts';
import { root } from './paths.mjs';
import { run } from './process.mjs';

// Not a dependency: 46 packages that nobody needs who does not change the API. Its output is in the repository and reviewed.
// With the TypeScript of this repository: 7 has no compiler API, and a registry would give that.
const GENERATOR = ['@hey-api/openapi-ts@0.99.0', 'typescript@6.0.3'];

const inClient = (name) => join(root, 'libs', 'client', 'src', name);

/** Writes both files anew when docs/openapi.json is another than the one they were made from; needs npm's registry then. */
export async function writeClientApi(signal) {
  const document = join(root, 'docs', 'openapi.json');
  const text = readFileSync(document, 'utf8');
  const types = inClient('api.gen.ts');
  const old = readFileSync(types, { encoding: 'utf8', flag: 'a+' });
  if (!old.startsWith(generatedHead(text, bodyOf(old)))) writeFileSync(types, await generated(document, text, signal));
  writeFileSync(inClient('operations.gen.ts'), operationsFile(JSON.parse(text)));
}

const bodyOf = (file) => file.slice(file.indexOf('\n\n') + 2);

async function generated(document, text, signal) {
  const folder = mkdtempSync(join(tmpdir(), 'relay-client-'));
  try {
    const fetched = ['exec', '--yes', ...GENERATOR.map((name) => `--package=${name}`), '--'];
    const made = ['openapi-ts', '--input', document, '--output', folder, '--plugins', '@hey-api/typescript'];
    await run('npm', [...fetched, ...made, '--no-log-file'], { cwd: folder, signal, capture: true });
    const body = bodyOf(readFileSync(join(folder, 'types.gen.ts'), 'utf8'));
    return `${generatedHead(text, body)}\n\n${body}`;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
