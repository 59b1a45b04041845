// The settings of this machine's npm, by which a build reaches the registry; none of them is in the repository.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../scripts/lib/paths.mjs';
import { run } from '../../scripts/lib/process.mjs';

const NAMES = ['registry', 'cafile', 'proxy', 'https-proxy', 'noproxy', 'strict-ssl'];
/** A build finds them here. Debian's packages write the usual files while they are installed. */
const CERTIFICATES = '/usr/local/etc/certificates.crt';
const JAVA_CERTIFICATES = '/etc/ssl/certs/java/cacerts';

/** Writes a npmrc into a folder; its path, and that of the certificates it names. */
export async function npmSettings(folder, signal) {
  const told = await run('npm', ['config', 'list', '--json'], { cwd: root, signal, capture: true });
  const settings = JSON.parse(told);
  const certificates = settings.cafile || process.env.NODE_EXTRA_CA_CERTS || undefined;
  const values = { ...settings, ...(certificates && { cafile: CERTIFICATES }) };
  const lines = NAMES.filter((name) => ![null, undefined, ''].includes(values[name])).map(
    (name) => `${name}=${values[name]}`,
  );
  const npmrc = join(folder, 'npmrc');
  writeFileSync(npmrc, `${lines.join('\n')}\n`);
  const mavenrc = join(folder, 'mavenrc');
  writeFileSync(mavenrc, `MAVEN_OPTS=-Djavax.net.ssl.trustStore=/usr/local/etc/cacerts\n`);
  return { npmrc, certificates, ...(existsSync(JAVA_CERTIFICATES) && { mavenrc }) };
}

/** The mounts with which a build finds both. They are no part of the image. */
export const mounts = ({ npmrc, certificates, mavenrc }) => [
  `--volume=${npmrc}:/usr/local/etc/npmrc:ro`,
  ...(certificates ? [`--volume=${certificates}:${CERTIFICATES}:ro`] : []),
  ...(mavenrc
    ? [`--volume=${mavenrc}:/usr/local/etc/mavenrc:ro`, `--volume=${JAVA_CERTIFICATES}:/usr/local/etc/cacerts:ro`]
    : []),
];
