// npm run release -- STEP [--dry-run]: one step of a release, as .github/workflows/release.yml runs them in this order. Its commands are
// printed, not run, with --dry-run. `set 1.2.3` writes the version into every file that repeats it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { install } from './lib/build.mjs';
import { root } from './lib/paths.mjs';
import { Fault, run, script } from './lib/process.mjs';
import { mentions, readVersion, writeVersion } from './release/versions.mjs';

const SEMANTIC = /^\d+\.\d+\.\d+(?:-[\w.]+)?$/;

const steps = {
  /** Whether every file has one version, which is that of the tag, if any, and whether CHANGELOG.md says what it changes. */
  async version(context) {
    const others = mentions().filter(({ version }) => version !== context.version);
    for (const { file, version } of others) console.log(`${file} has ${version || 'no version'}`);
    if (others.length > 0)
      throw new Fault(`package.json has ${context.version}: npm run release -- set ${context.version}`);
    const tag = process.env.RELEASE_TAG;
    if (tag && tag !== `v${context.version}`) throw new Fault(`the tag ${tag} is not v${context.version}`);
    await steps.notes(context);
  },
  async notes(context) {
    const { notes } = await import('./release/page.mjs');
    console.log(await notes(context));
  },
  image: async (context) => (await import('./release/image.mjs')).image(context),
  'local-image': async (context) => (await import('./release/image.mjs')).localImage(context),
  async chart(context) {
    await install(context.signal); // it reads YAML; the other steps use no package
    const { chart } = await import('./release/chart.mjs');
    await chart(context);
  },
  client: async (context) => (await import('./release/client.mjs')).client(context),
  page: async (context) => (await import('./release/page.mjs')).page(context),
  set({ words: [version] }) {
    if (!SEMANTIC.test(version ?? '')) throw new Fault('name the version, as 1.2.3 or 1.3.0-rc.1');
    writeVersion(version);
    console.log('now: npx node scripts/docs.mjs, and a section of CHANGELOG.md');
  },
};

await script(async (signal) => {
  const isRehearsal = process.argv.includes('--dry-run');
  const [name, ...words] = process.argv.slice(2).filter((word) => word !== '--dry-run');
  const step = steps[name];
  if (step === undefined) throw new Fault(`name a step: ${Object.keys(steps).join(', ')}`);
  const folder = mkdtempSync(join(tmpdir(), 'relay-release-'));
  const capture = (command, args) => run(command, args, { cwd: root, signal, capture: true });
  const act = (command, args) =>
    isRehearsal ? console.log([command, ...args].join(' ')) : run(command, args, { cwd: root, signal });
  /** Registries take lower case only, and the name of a repository may have capitals. */
  const named = (variable) => {
    const value = process.env[variable];
    if (!value || value.startsWith('/')) throw new Fault(`${variable} is not set; CONTRIBUTING.md says to what`);
    return variable === 'RELEASE_SOURCE' ? value : value.toLowerCase();
  };
  try {
    await step({ signal, act, capture, named, folder, words, isRehearsal, version: readVersion() });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
