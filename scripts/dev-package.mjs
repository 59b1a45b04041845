// node scripts/dev-package.mjs FOLDER: writes the npm package `partner-relay` into FOLDER, which it empties first: the built code in few
// files as the image has it, the scripts that `partner-relay dev` runs, and Kafka. npm brings the packages of package.json.
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { build } from './lib/build.mjs';
import { classPath } from './lib/kafka-jars.mjs';
import { prepare } from './lib/kafka.mjs';
import { node24, root } from './lib/paths.mjs';
import { Fault, run, script } from './lib/process.mjs';

await script(async (signal) => {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new Fault('name the folder that the package is written to');
  await build(signal);
  await prepare(signal);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await run(node24, [join(root, 'scripts', 'image', 'bundle.mjs'), join(folder, 'dist')], { cwd: root, signal });
  const copy = (from, path) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    copyFileSync(from, join(folder, path));
  };
  for (const path of [...(await importedBy('scripts/dev.mjs')), 'scripts/kafka/log4j2.xml', 'README.md', 'LICENSE'])
    copy(join(root, path), path);
  for (const jar of classPath().split(':')) copy(jar, join('cache', basename(dirname(jar)), basename(jar)));
  const {
    scripts: _,
    devDependencies: __,
    allowScripts: ___,
    private: ____,
    ...own
  } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const made = { ...own, bin: { 'partner-relay': 'scripts/dev.mjs' } };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(made, null, 2)}\n`);
});

/** The files of the repository that a script imports, and itself. */
async function importedBy(path) {
  const { build: bundle } = await import('esbuild');
  const options = { absWorkingDir: root, bundle: true, write: false, metafile: true, platform: 'node', format: 'esm' };
  const { metafile } = await bundle({ ...options, entryPoints: [path], outdir: '.', packages: 'external' });
  return Object.keys(metafile.inputs);
}
