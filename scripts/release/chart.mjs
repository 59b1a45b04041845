// The chart as its users pull it: it names the released image and what Artifact Hub shows. Pushed, and signed by its digest.
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseYaml, stringifyYaml } from '@redocly/openapi-core';
import { root } from '../lib/paths.mjs';
import { Fault } from '../lib/process.mjs';

const CHART = join('charts', 'partner-relay');

export async function chart({ act, capture, named, version, folder, isRehearsal }) {
  const target = named('RELEASE_CHARTS');
  const copy = join(folder, 'partner-relay');
  assemble(copy, { version, image: named('RELEASE_IMAGE'), source: named('RELEASE_SOURCE') });
  await capture('helm', ['lint', '--strict', copy, '--values', join(root, CHART, 'ci', 'minimal-values.yaml')]);
  await capture('helm', ['package', copy, '--destination', folder]);
  const push = ['push', join(folder, `partner-relay-${version}.tgz`), `oci://${target}`];
  if (process.env.RELEASE_PLAIN_HTTP) push.push('--plain-http'); // a registry on this machine
  let digest = 'sha256:…';
  if (isRehearsal) await act('helm', push);
  else {
    // helm tells the digest on whichever of its two outputs its version takes.
    const said = await capture('sh', ['-c', 'exec helm "$@" 2>&1', 'sh', ...push]);
    digest = /^Digest:\s+(sha256:[0-9a-f]{64})$/m.exec(said)?.[1];
    if (digest === undefined) throw new Fault(`helm names no digest of the chart:\n${said}`);
  }
  await act('cosign', ['sign', '--yes', `${target}/partner-relay@${digest}`]);
}

/** A copy of the chart that names the image and the repository. */
export function assemble(copy, { version, image, source }) {
  cpSync(join(root, CHART), copy, { recursive: true });
  const values = join(copy, 'values.yaml');
  const [registry, ...rest] = image.split('/');
  let text = readFileSync(values, 'utf8');
  for (const [from, to] of [
    ["  registry: ''", `  registry: ${registry}`],
    ['  repository: partner-relay', `  repository: ${rest.join('/')}`],
  ]) {
    if (!text.includes(`\n${from}\n`)) throw new Fault(`values.yaml of the chart has no line ${from}`);
    text = text.replace(`\n${from}\n`, `\n${to}\n`);
  }
  writeFileSync(values, text);

  const path = join(copy, 'Chart.yaml');
  const own = parseYaml(readFileSync(path, 'utf8'));
  const annotations = {
    ...own.annotations,
    'artifacthub.io/images': stringifyYaml([{ name: 'partner-relay', image: `${image}:${version}` }]),
    'artifacthub.io/links': stringifyYaml([{ name: 'source', url: source }]),
    'artifacthub.io/prerelease': String(version.includes('-')),
  };
  writeFileSync(path, stringifyYaml({ ...own, home: source, sources: [source], annotations }));
}
