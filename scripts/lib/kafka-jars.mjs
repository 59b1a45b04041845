// Apache Kafka's jars, fetched once per machine with Maven into the shared cache, and an archive of their loaded classes.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { withLock } from './lock.mjs';
import { javaVersion } from './packages.mjs';
import { cache, isClone, root } from './paths.mjs';
import { run } from './process.mjs';

const folder = join(cache, 'kafka-4.1.0');
const pom = join(root, 'scripts', 'kafka', 'pom.xml');

export const classPath = () =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.jar'))
    .toSorted()
    .map((name) => join(folder, name))
    .join(':');

/** The class data archive of this Java and these jars: halves the start. Java ignores one that does not fit. */
export const classArchive = async () => join(folder, `classes-${await javaVersion()}.jsa`);

/** The programs that fetching and running take. */
export const neededToFetch = () => (existsSync(folder) ? ['java'] : ['java', 'mvn']);

/**
 * Fetches what is missing. `record(path, scratch)` runs a broker once that writes the archive. Both appear under their
 * name only when complete, so that a stack starting meanwhile or an interrupted fetch never sees half of them.
 */
export async function fetchKafka(signal, record) {
  // The folder of the npm package may belong to another user, and its first start must not take longer than the others.
  if (existsSync(folder) && (!isClone || existsSync(await classArchive()))) return;
  await withLock(join(cache, 'kafka.lock'), signal, async () => {
    if (!existsSync(folder))
      await scratch(async (fresh) => {
        console.log('fetching Apache Kafka 4.1.0 with Maven (43 MB, once per machine)');
        const goal = ['dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${fresh}`];
        await run('mvn', ['-q', '-B', '-f', pom, ...goal], { signal, capture: true });
        renameSync(fresh, folder);
      });
    const path = await classArchive();
    if (!existsSync(path))
      await scratch(async (fresh) => {
        console.log('recording the class archive that halves its start (once per machine)');
        await record(join(fresh, 'classes.jsa'), fresh);
        if (existsSync(join(fresh, 'classes.jsa'))) renameSync(join(fresh, 'classes.jsa'), path);
      });
  });
}

async function scratch(task) {
  mkdirSync(cache, { recursive: true });
  const fresh = mkdtempSync(join(cache, 'fetch-'));
  try {
    await task(fresh);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}
