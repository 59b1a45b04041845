// The settings of this machine's npm, by which a build reaches the registry; none of them is in the repository.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../scripts/lib/paths.mjs';
import { run } from '../../scripts/lib/process.mjs';

const NAMES = ['registry', 'cafile', 'proxy', 'https-proxy', 'noproxy', 'strict-ssl'];
const DEBIAN_CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';

/** Writes a npmrc into a folder; its path, and that of the certificates it names. */
export async function npmSettings(folder, signal) {
  const told = await run('npm', ['config', 'list', '--json'], { cwd: root, signal, capture: true });
  const settings = JSON.parse(told);
  const certificates = settings.cafile || process.env.NODE_EXTRA_CA_CERTS || undefined;
  const values = { ...settings, ...(certificates && { cafile: DEBIAN_CERTIFICATES }) };
  const lines = NAMES.filter((name) => ![null, undefined, ''].includes(values[name])).map(
    (name) => `${name}=${values[name]}`,
  );
  const npmrc = join(folder, 'npmrc');
  writeFileSync(npmrc, `${lines.join('\n')}\n`);
  return { npmrc, certificates };
}

/** The mounts with which a build finds both. They are no part of the image. */
export const mounts = ({ npmrc, certificates }) => [
  `--volume=${npmrc}:/usr/local/etc/npmrc:ro`,
  ...(certificates ? [`--volume=${certificates}:${DEBIAN_CERTIFICATES}:ro`] : []),
];
