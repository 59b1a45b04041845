// @partner-relay/client to the npm registry, with a statement of which workflow made it from which commit.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { node24, root } from '../lib/paths.mjs';

export async function client({ act, capture, named, version, folder }) {
  const made = join(folder, 'client');
  await capture(node24, [join(root, 'scripts', 'client-package.mjs'), made]);
  const path = join(made, 'package.json');
  // npm holds the statement against this address.
  const repository = { type: 'git', url: `git+${named('RELEASE_SOURCE')}.git`, directory: 'libs/clients/client' };
  writeFileSync(path, `${JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), repository }, null, 2)}\n`);
  const tag = version.includes('-') ? ['--tag=next'] : [];
  await act('npm', ['publish', made, '--provenance', '--access=public', ...tag]);
}
