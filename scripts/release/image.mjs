// The image for both platforms with its bill of materials and provenance, pushed, and signed by its digest without a key.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../lib/process.mjs';

const PLATFORMS = 'linux/amd64,linux/arm64';

export async function image({ act, capture, named, version, folder, isRehearsal }) {
  const name = named('RELEASE_IMAGE');
  const metadata = join(folder, 'image.json');
  await act('docker', [
    'buildx',
    'build',
    `--platform=${PLATFORMS}`,
    ...(await buildArguments({ capture, version })),
    `--label=org.opencontainers.image.source=${named('RELEASE_SOURCE')}`,
    '--sbom=true',
    '--provenance=mode=max',
    `--tag=${name}:${version}`,
    `--metadata-file=${metadata}`,
    '--push',
    '.',
  ]);
  // The index of both platforms: a tag can be moved, a signature holds for what it was given for.
  const digest = isRehearsal ? 'sha256:…' : JSON.parse(readFileSync(metadata, 'utf8'))['containerimage.digest'];
  await act('cosign', ['sign', '--yes', `${name}@${digest}`]);
}

/** For this machine's platform alone, into its own store: whether the Dockerfile makes images that start. `dev` is not published. */
export async function localImage({ act, capture, version, isRehearsal }) {
  const built = await buildArguments({ capture, version });
  for (const { tag, target, ask, answer } of [
    { tag: `partner-relay:${version}`, target: [], ask: ['relay', '--version'], answer: version },
    { tag: `partner-relay:${version}-dev`, target: ['--target=dev'], ask: ['--help'], answer: 'partner-relay dev' },
  ]) {
    await act('docker', ['buildx', 'build', ...target, ...built, `--tag=${tag}`, '--load', '.']);
    if (isRehearsal) continue;
    const said = (await capture('docker', ['run', '--rm', tag, ...ask])).trim();
    if (!said.includes(answer)) throw new Fault(`${tag} says: ${said}`);
  }
}

async function buildArguments({ capture, version }) {
  const [revision, created] = (await capture('git', ['log', '-1', '--format=%H %cI'])).trim().split(' ');
  return Object.entries({ VERSION: version, REVISION: revision, CREATED: created }).map(
    ([name, value]) => `--build-arg=${name}=${value}`,
  );
}
