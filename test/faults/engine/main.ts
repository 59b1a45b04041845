import { randomInt } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Servers } from '../../support/servers.js';
import { allFaults, chosen } from './catalog.js';
import type { Fault, Outcome } from './fault.js';
import { Journal, keepEvidence, versionOf } from './journal.js';
import { markdownOf, textOf } from './report.js';
import { runFault } from './run-fault.js';
import { sabotage } from './sabotage.js';

const PAGE = join(import.meta.dirname, '..', '..', '..', 'docs', 'evidence', 'faults.md');

/** The servers of the run under way: most faults leave them fit for the next one. */
class Bench {
  #servers: Servers | undefined;
  #isCluster = false;

  /** @param folder where the servers keep their data */
  constructor(private readonly folder: string) {}

  async run(fault: Fault, seed: string): ReturnType<typeof runFault> {
    const isCluster = fault.cluster === true;
    if (this.#isCluster !== isCluster) await this.end();
    this.#isCluster = isCluster;
    this.#servers ??= await Servers.start(this.folder, isCluster);
    const run = await runFault(fault, seed, this.#servers);
    if (fault.spoils === true || run.outcome.failures.length > 0) await this.end();
    return run;
  }

  async end(): Promise<void> {
    const servers = this.#servers;
    this.#servers = undefined;
    await servers?.end();
  }
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true, default: [] },
      seed: { type: 'string' },
      runs: { type: 'string', default: '3' },
      fresh: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      sabotage: { type: 'boolean', default: false },
    },
  });
  const faults = await allFaults();
  const only = values.only.flatMap((some) => some.split(','));
  const selected = values.sabotage ? [] : chosen(faults, only);
  if (values.list) {
    say(selected.map(({ row, name, does }) => `${String(row).padStart(2)}  ${name.padEnd(36)}  ${does}`).join('\n'));
    return 0;
  }
  const bench = new Bench(process.env['RELAY_FAULTS_HOME'] ?? '');
  stopped(() => bench.end());
  try {
    const run = (fault: Fault, seed: string): ReturnType<typeof runFault> => bench.run(fault, seed);
    if (values.sabotage) return await sabotage(faults, only, run, say);
    const version = versionOf();
    const journal = new Journal(version);
    if (values.fresh) journal.forget(selected.map(({ name }) => name));
    const seed = values.seed ?? journal.seed?.split(':')[0] ?? String(randomInt(1, 1_000_000));
    say(`seed ${seed}, code ${version}`);
    for (const fault of selected) {
      const impossible = fault.impossible?.();
      if (impossible !== undefined) {
        say(`${fault.name} skipped: ${impossible}`);
        continue;
      }
      for (let number = 1; number <= Number(values.runs); number += 1) {
        if (journal.find(fault.name, number) !== undefined) continue;
        const own = `${seed}:${fault.name}:${number}`;
        const { outcome, logs } = await run(fault, own);
        journal.add({ fault: fault.name, run: number, seed: own, outcome });
        say(`${fault.name} ${number}/${values.runs}  ${brief(outcome)}`);
        if (outcome.failures.length === 0) continue;
        say(
          `  kept: ${keepEvidence(`${fault.name}-${number}`, { ...logs, 'outcome.json': JSON.stringify(outcome, undefined, 2) })}`,
        );
      }
    }
    const lines = faults.map((fault) => ({ fault, entries: journal.of(fault.name) }));
    const done = lines.filter(({ entries }) => entries.length > 0);
    say(`\n${textOf(done.filter(({ fault }) => selected.includes(fault)))}`);
    if (only.length === 0 || values.write) writeFileSync(PAGE, markdownOf(lines, seed, readFileSync(PAGE, 'utf8')));
    const ofSelected = selected.flatMap(({ name }) => journal.of(name));
    return ofSelected.some(({ outcome }) => outcome.failures.length > 0) ? 1 : 0;
  } finally {
    await bench.end();
  }
}

function brief({ failures, recoveriesMs, ...counts }: Outcome): string {
  const figures = Object.entries(counts).map(([name, value]) => `${name} ${value}`);
  const recovered = recoveriesMs.length === 0 ? '' : `, recovered after ${recoveriesMs.join(', ')} ms`;
  return `${figures.join(', ')}${recovered}${failures.map((failure) => `\n  FAILED: ${failure}`).join('')}`;
}

/** What was started ends also when the suite is told to. */
function stopped(end: () => Promise<void>): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => void end().finally(() => process.exit(130)));
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
process.exit();
