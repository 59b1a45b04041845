// The npm package `partner-relay`, packed and installed into an empty folder: whether it starts. It is not published.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { node24, root } from '../lib/paths.mjs';
import { Fault } from '../lib/process.mjs';

export async function localPackage({ capture, version, folder }) {
  const [made, empty] = [join(folder, 'made'), join(folder, 'empty')];
  await capture(node24, [join(root, 'scripts', 'dev-package.mjs'), made]);
  await capture('npm', ['pack', made, '--pack-destination', folder]);
  mkdirSync(empty);
  await capture('npm', ['install', '--prefix', empty, join(folder, `partner-relay-${version}.tgz`)]);
  const said = await capture(node24, [join(empty, 'node_modules', '.bin', 'partner-relay'), '--help']);
  if (!said.includes('partner-relay dev')) throw new Fault(`the installed package says: ${said}`);
}
