import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

// What the examples in other languages need on this machine. What is missing skips its test, which then names it.

const cache = process.env['RELAY_CACHE'] ?? join(homedir(), '.cache', 'partner-relay');
const CONFLUENT_KAFKA = '2.16.1';
const FRANZ_GO = '1.22.2';
const SCHEMATHESIS = '4.32.5';
const STANDARD_WEBHOOKS = '1.1.0';

/** Where a program is; undefined when it is nowhere on the path. */
export const pathOf = (program: string): string | undefined =>
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find((file) => existsSync(file));
export const onPath = (program: string): boolean => pathOf(program) !== undefined;

/** Class path of the Kafka that the local stack has fetched, where a Java with a compiler is there as well. */
export function kafkaClassPath(): string | undefined {
  const folder = existsSync(cache) ? readdirSync(cache).find((name) => /^kafka-\d/.test(name)) : undefined;
  if (folder === undefined || !onPath('java')) return undefined;
  const modules = execFileSync('java', ['--list-modules'], { encoding: 'utf8' });
  return modules.includes('jdk.compiler') ? join(cache, folder, '*') : undefined;
}

/** Folder with Python's confluent-kafka, fetched once per machine; undefined without python3, pip or PyPI. */
export const confluentKafka = (): string | undefined => ofPyPi('confluent-kafka', CONFLUENT_KAFKA);

/** Folder with Python's schemathesis, fetched once per machine; undefined without python3, pip or PyPI. */
export const schemathesis = (): string | undefined => ofPyPi('schemathesis', SCHEMATHESIS);

/** Folder with Python's standardwebhooks, fetched once per machine; undefined without python3, pip or PyPI. */
export const standardWebhooks = (): string | undefined => ofPyPi('standardwebhooks', STANDARD_WEBHOOKS);

/** Folder of a Go module that requires franz-go, fetched once per machine; undefined without Go or its proxy. */
export const franzGo = (): string | undefined =>
  fetched(`go-franz-go-${FRANZ_GO}`, (folder) => {
    // A package that names it, so that `tidy` keeps it and finds what it needs.
    writeFileSync(
      join(folder, 'library.go'),
      'package main\n\nimport _ "github.com/twmb/franz-go/pkg/kgo"\n\nfunc main() {}\n',
    );
    return (
      runs('go', ['mod', 'init', 'example'], folder) &&
      runs('go', ['get', `github.com/twmb/franz-go@v${FRANZ_GO}`], folder) &&
      runs('go', ['mod', 'tidy'], folder)
    );
  });

/**
 * A program of a package of npm's registry for this machine, fetched once per machine; undefined without npm or its registry, and
 * on another kind of machine.
 */
export const ofNpm = (name: string, version: string, path: string): string | undefined => {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  const folder = fetched(`npm-${name.replace('/', '-')}-${version}`, (prefix) =>
    runs('npm', ['install', '--prefix', prefix, '--no-save', '--no-audit', '--ignore-scripts', `${name}@${version}`]),
  );
  return folder && join(folder, 'node_modules', name, path);
};

/** A test that the report shows as skipped, by a name that says what is missing here. */
export function skipped(name: string): void {
  const { skip } = it;
  skip(name, () => undefined);
}

const runs = (program: string, args: readonly string[], cwd?: string): boolean =>
  spawnSync(program, args, { ...(cwd !== undefined && { cwd }), stdio: 'ignore', timeout: 300_000 }).status === 0;

const ofPyPi = (name: string, version: string): string | undefined =>
  fetched(`python-${name}-${version}`, (folder) =>
    runs('python3', ['-m', 'pip', 'install', '-q', '--target', folder, `${name}==${version}`]),
  );

/** A folder of the cache: whole or not there, however many fetch it at once. */
function fetched(name: string, fetch: (folder: string) => boolean): string | undefined {
  const folder = join(cache, name);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const fresh = mkdtempSync(`${folder}.`);
  try {
    if (!fetch(fresh)) return undefined;
    renameSync(fresh, folder);
    return folder;
  } catch {
    return existsSync(folder) ? folder : undefined; // another process was quicker
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}
