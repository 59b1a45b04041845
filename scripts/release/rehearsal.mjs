// The steps of a release as release.yml calls them, without what they publish.
import { readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { root } from '../lib/paths.mjs';
import { Fault } from '../lib/process.mjs';

/** The commands of each step that publishes. */
const PUBLISHING = {
  image: [
    /^docker buildx build --platform=linux\/amd64,linux\/arm64 .*--sbom=true --provenance=mode=max/m,
    /^cosign sign /m,
  ],
  chart: [/^helm push \S+\.tgz oci:\/\/registry\.example\/acme\/charts$/m, /^cosign sign /m],
  client: [/^npm publish \S+ --provenance/m],
  bill: [/^gh release upload v1\.2\.3 \S+sbom\.cdx\.json$/m],
};
const NAMED = {
  RELEASE_IMAGE: 'registry.example/acme/relay',
  RELEASE_CHARTS: 'registry.example/acme/charts',
  RELEASE_SOURCE: 'https://git.example/acme/relay',
  RELEASE_TAG: 'v1.2.3',
};

/** @param options.helm its path @returns the steps that were rehearsed @throws Fault unless each would publish what it is for */
export async function rehearse({ capture, helm }) {
  const workflow = readFileSync(join(root, '.github', 'workflows', 'release.yml'), 'utf8');
  const steps = [...workflow.matchAll(/run: npm run release -- (\S+)$/gm)].map(([, step]) => step);
  const unseen = Object.keys(PUBLISHING).filter((step) => !steps.includes(step));
  if (unseen.length > 0) throw new Fault(`release.yml has no step ${unseen.join(', ')}`);
  const env = { ...process.env, ...NAMED, PATH: [dirname(helm), process.env.PATH].join(delimiter) };
  for (const step of steps) {
    const said = await capture('npm', ['run', '-s', 'release', '--', step, '--dry-run'], { cwd: root, env });
    const missing = PUBLISHING[step].find((pattern) => !pattern.test(said));
    if (missing) throw new Fault(`${step} has nothing like ${missing}:\n${said}`);
  }
  return steps;
}
