import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

/** The folder `/app` of the image without an image: its programs, and the built code in few files as the Dockerfile makes them. */
export function imageFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'relay-image-'));
  cpSync(join(root, 'scripts', 'image'), folder, { recursive: true });
  for (const name of ['node_modules', 'package.json']) symlinkSync(join(root, name), join(folder, name));
  execFileSync(process.execPath, [join(root, 'scripts', 'image', 'bundle.mjs'), join(folder, 'dist')]);
  return folder;
}
