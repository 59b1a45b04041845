// node prune.mjs FOLDER: takes away from a node_modules what no running process reads. The Dockerfile runs it once.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** Kinds of files that are for people, compilers and debuggers. TypeScript's sources end as its declarations do. */
const FILES = [/\.map$/, /\.[cm]?ts$/, /\.tsbuildinfo$/, /\.(?:md|markdown)$/i, /\.flow$/];
/** Licences stay, whatever their files are called. */
const KEPT = /licen[cs]e|notice|copying/i;
/** Folders at the root of a package: deeper down, such a name may be a part of the program. */
const FOLDERS = new Set(
  '.github .vscode __tests__ benchmark benchmarks coverage doc docs example examples test tests'.split(' '),
);
/** npm's own list of what is installed, and links to programs that nobody calls; in any node_modules. */
const NPMS = new Set(['.package-lock.json', '.bin']);
/** Optional peers of a package that npm installs because development needs them. */
const PACKAGES = ['typescript'];

const modules = resolve(process.argv[2]);
for (const name of PACKAGES) rmSync(join(modules, name), { recursive: true }); // it throws where one is no longer there
prune(modules);

function prune(folder) {
  const isPackage = existsSync(join(folder, 'package.json'));
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    const isIdle =
      NPMS.has(entry.name) ||
      (entry.isDirectory()
        ? isPackage && FOLDERS.has(entry.name)
        : FILES.some((kind) => kind.test(entry.name)) && !KEPT.test(entry.name));
    if (isIdle) rmSync(path, { recursive: true });
    else if (entry.isDirectory()) prune(path);
  }
}
