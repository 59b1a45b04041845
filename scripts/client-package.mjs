// node scripts/client-package.mjs FOLDER: writes the package of libs/clients/client, with the files it uses of other libs, into
// FOLDER, which it empties first. `npm publish` takes it from there.
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { build } from './lib/build.mjs';
import { libs } from './lib/libs.mjs';
import { node24, root } from './lib/paths.mjs';
import { Fault, run, script } from './lib/process.mjs';

const client = dirname(libs.get('@relay/client'));

await script(async (signal) => {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new Fault('name the folder that the package is written to');
  await build(signal);
  mkdirSync(join(root, '.relay'), { recursive: true });
  const scratch = mkdtempSync(join(root, '.relay', 'client-package-'));
  try {
    await declare(scratch, signal);
    rmSync(folder, { recursive: true, force: true });
    // The files that the index and the command reach have declarations now; the package consists of these.
    const declared = join(scratch, 'out', 'libs');
    for (const path of readdirSync(declared, { recursive: true }).filter((name) => name.endsWith('.d.ts'))) {
      write(join(folder, path), inPackage(path, readFileSync(join(declared, path), 'utf8')));
      const code = path.replace(/\.d\.ts$/, '.js');
      const built = readFileSync(join(root, 'dist', 'libs', code), 'utf8');
      write(join(folder, code), built.replace(/\n\/\/# sourceMappingURL=.*/, ''));
    }
    for (const name of ['package.json', 'README.md']) copyFileSync(join(client, name), join(folder, name));
    copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  } finally {
    rmSync(scratch, { recursive: true });
  }
});

async function declare(scratch, signal) {
  const settings = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: { declaration: true, emitDeclarationOnly: true, sourceMap: false, types: ['node'], outDir: 'out' },
    files: ['index.ts', 'main.ts'].map((name) => join(client, name)),
    include: [],
  };
  const project = join(scratch, 'tsconfig.json');
  writeFileSync(project, JSON.stringify(settings));
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  await run(node24, [tsc, '--project', project], { cwd: root, signal, capture: true });
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** `@relay/…` by its path, as the build has done it in the code. */
function inPackage(path, text) {
  return text.replaceAll(/(['"])(@relay\/[\w-]+)\1/g, (_, quote, lib) => {
    const target = relative(dirname(join(root, 'libs', path)), libs.get(lib).replace(/ts$/, 'js'));
    return `${quote}${target}${quote}`;
  });
}
