// npm run test:connect: the pages about Kafka Connect run as they stand, with Debezium, a PostgreSQL and the sink for files. Linux and
// root. Nothing stays but the jars, in the cache.
import { existsSync, globSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { need } from '../scripts/lib/packages.mjs';
import { cache, root } from '../scripts/lib/paths.mjs';
import { Fault, run, script } from '../scripts/lib/process.mjs';

const jars = join(cache, 'connect-4.1.0-debezium-3.3.1');

await script(async (signal) => {
  if (process.platform !== 'linux' || process.getuid() !== 0)
    throw new Fault('npm run test:connect needs Linux and root');
  await need(['java', 'mvn', 'postgres'], signal);
  if (!existsSync(jars)) await fetchJars(signal);
  const [programs = ''] = globSync('/usr/lib/postgresql/*/bin').toSorted().toReversed();
  const env = { ...process.env, RELAY_CONNECT_JARS: jars, PATH: [programs, process.env.PATH].join(delimiter) };
  const test = ['scripts/test.mjs', '--selectProjects', 'e2e', '--testPathPatterns', 'documents/connect'];
  await run(process.execPath, test, { cwd: root, env, signal });
});

async function fetchJars(signal) {
  mkdirSync(cache, { recursive: true });
  const fresh = mkdtempSync(`${jars}.`);
  try {
    const goal = ['dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${fresh}`];
    const pom = join(import.meta.dirname, 'connect', 'pom.xml');
    await run('mvn', ['-q', '-B', '-f', pom, ...goal], { signal, capture: true });
    renameSync(fresh, jars);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}
