import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Outcome } from './fault.js';

export interface Entry {
  /** What was tested and by what: see `versionOf`. */
  readonly version: string;
  readonly fault: string;
  readonly run: number;
  readonly seed: string;
  readonly outcome: Outcome;
}

const root = join(import.meta.dirname, '..', '..', '..');
const folder = join(root, '.relay', 'faults');
const file = join(folder, 'journal.jsonl');

/** Results of the runs so far, so that an interrupted suite goes on where it was. */
export class Journal {
  #entries: Entry[];

  constructor(private readonly version: string) {
    mkdirSync(folder, { recursive: true });
    const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
    this.#entries = lines.map((line) => JSON.parse(line) as Entry);
  }

  get seed(): string | undefined {
    return this.#entries.find(({ version }) => version === this.version)?.seed;
  }

  find(fault: string, run: number): Entry | undefined {
    return this.#entries.findLast(
      (entry) => entry.version === this.version && entry.fault === fault && entry.run === run,
    );
  }

  of(fault: string): Entry[] {
    const runs = new Set(this.#entries.filter((entry) => entry.fault === fault).map(({ run }) => run));
    return [...runs].flatMap((run) => this.find(fault, run) ?? []);
  }

  add(entry: Omit<Entry, 'version'>): void {
    const whole = { version: this.version, ...entry };
    this.#entries.push(whole);
    appendFileSync(file, `${JSON.stringify(whole)}\n`);
  }

  forget(faults: readonly string[]): void {
    this.#entries = this.#entries.filter(({ fault }) => !faults.includes(fault));
    writeFileSync(file, this.#entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  }
}

/** Keeps what explains a failed run. */
export function keepEvidence(name: string, texts: Readonly<Record<string, string>>): string {
  const to = join(folder, name);
  mkdirSync(to, { recursive: true });
  for (const [part, text] of Object.entries(texts)) writeFileSync(join(to, part), text);
  return join('.relay', 'faults', name);
}

/** The commit, and beside it a hash of what differs from it in the code under test and in the suite. */
export function versionOf(): string {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28 });
  const tested = ['apps', 'libs', 'package-lock.json', 'test/support', 'test/faults'];
  const commit = git('log', '-1', '--format=%h', '--', ...tested).trim();
  const changes = git('diff', 'HEAD', '--', ...tested);
  return changes === '' ? commit : `${commit}+${createHash('sha256').update(changes).digest('hex').slice(0, 8)}`;
}
