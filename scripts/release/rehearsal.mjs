// The steps of a release as release.yml calls them, without what they publish, on a clone whose changelog has a section for the version.
import { cpSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { root } from '../lib/paths.mjs';
import { Fault } from '../lib/process.mjs';
import { readVersion } from './versions.mjs';

/** What each step that publishes would run. */
const PUBLISHING = {
  image: [
    /^docker buildx build --platform=linux\/amd64,linux\/arm64 .*--sbom=true --provenance=mode=max/m,
    /^cosign sign /m,
  ],
  chart: [/^helm push \S+\.tgz oci:\/\/registry\.example\/acme\/charts$/m, /^cosign sign /m],
  client: [/^npm publish \S+ --provenance/m],
  page: [/^gh release create v\S+ --verify-tag .*sbom\.cdx\.json$/m],
};
const NAMED = {
  RELEASE_IMAGE: 'registry.example/acme/relay',
  RELEASE_CHARTS: 'registry.example/acme/charts',
  RELEASE_SOURCE: 'https://git.example/acme/relay',
};

/** @param options.helm its path @returns the steps that were rehearsed @throws Fault unless each would publish what it is for */
export async function rehearse({ folder, capture, helm }) {
  const clone = join(folder, 'release');
  await capture('git', ['clone', '--quiet', '--no-hardlinks', root, clone]);
  for (const name of ['scripts', 'charts', '.github']) cpSync(join(root, name), join(clone, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));
  utimesSync(join(clone, 'package-lock.json'), 0, 0); // or the packages would look older, and be installed
  const changelog = join(clone, 'CHANGELOG.md');
  const text = readFileSync(changelog, 'utf8').replace(/^## Unreleased$/m, `## ${readVersion()}`);
  writeFileSync(changelog, text);

  const workflow = readFileSync(join(clone, '.github', 'workflows', 'release.yml'), 'utf8');
  const steps = [...workflow.matchAll(/run: npm run release -- (\S+)$/gm)].map(([, step]) => step);
  const unseen = Object.keys(PUBLISHING).filter((step) => !steps.includes(step));
  if (unseen.length > 0) throw new Fault(`release.yml has no step ${unseen.join(', ')}`);
  const env = {
    ...process.env,
    ...NAMED,
    RELEASE_TAG: `v${readVersion()}`,
    PATH: [dirname(helm), process.env.PATH].join(delimiter),
  };
  for (const step of steps) {
    const said = await capture('npm', ['run', '-s', 'release', '--', step, '--dry-run'], { cwd: clone, env });
    const missing = (PUBLISHING[step] ?? []).find((pattern) => !pattern.test(said));
    if (missing) throw new Fault(`${step} has nothing like ${missing}:\n${said}`);
  }
  return steps;
}
