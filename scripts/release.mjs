// npm run release -- STEP [--dry-run]: one publishing step of a release, as .github/workflows/release.yml runs them. Its commands are
// printed, not run, with --dry-run.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { install } from './lib/build.mjs';
import { root } from './lib/paths.mjs';
import { Fault, run, script } from './lib/process.mjs';

const steps = {
  image: async (context) => (await import('./release/image.mjs')).image(context),
  'local-image': async (context) => (await import('./release/image.mjs')).localImage(context),
  async chart(context) {
    await install(context.signal); // it reads YAML; the other steps use no package
    const { chart } = await import('./release/chart.mjs');
    await chart(context);
  },
  client: async (context) => (await import('./release/client.mjs')).client(context),
  'local-package': async (context) => (await import('./release/local-package.mjs')).localPackage(context),
  /** The bill of materials of the production dependencies, on the release's page. */
  async bill({ act, capture, named, folder }) {
    const bill = join(folder, 'sbom.cdx.json');
    writeFileSync(bill, await capture('npm', ['run', '-s', 'sbom']));
    await act('gh', ['release', 'upload', named('RELEASE_TAG'), bill]);
  },
};

await script(async (signal) => {
  const isRehearsal = process.argv.includes('--dry-run');
  const name = process.argv.slice(2).find((word) => word !== '--dry-run');
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
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  try {
    await step({ signal, act, capture, named, folder, isRehearsal, version });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
