import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Fault } from './fault.js';
import type { Run } from './run-fault.js';

const execute = promisify(execFile);
const root = join(import.meta.dirname, '..', '..', '..');
const folder = join(import.meta.dirname, '..', 'sabotage');
/** A variant whose fault needs luck to show gets so many runs to show it. */
const RUNS = 4;

/** Sources broken on purpose, and the fault that must notice. */
export interface Variant {
  readonly name: string;
  /** The patch, as `git apply` takes it. */
  readonly file: string;
  readonly fault: string;
  readonly breaks: string;
}

export function variants(): Variant[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.patch'));
  return files.toSorted().map((name) => {
    const file = join(folder, name);
    const text = readFileSync(file, 'utf8');
    const [, fault = ''] = /^Fault: (.+)$/m.exec(text) ?? [];
    const [, breaks = ''] = /^Breaks: (.+)$/m.exec(text) ?? [];
    return { name: name.replace(/\.patch$/, ''), file, fault, breaks };
  });
}

/** Runs each variant against its fault. @returns 1 unless every one of them is caught losing something */
export async function sabotage(
  faults: readonly Fault[],
  only: readonly string[],
  run: (fault: Fault, seed: string) => Promise<Run>,
  say: (text: string) => void,
): Promise<number> {
  const chosen = variants().filter(({ name }) => only.length === 0 || only.includes(name));
  if (chosen.length === 0) throw new Error(`There is no variant ${only.join(', ')}`);
  const missed: string[] = [];
  for (const variant of chosen) {
    const fault = faults.find(({ name }) => name === variant.fault);
    if (fault === undefined) throw new Error(`${variant.name} names the fault ${variant.fault}, which does not exist`);
    process.env['RELAY_DIST'] = await built(variant);
    const caught = await isCaught(variant, fault, run, say);
    if (!caught) missed.push(variant.name);
  }
  delete process.env['RELAY_DIST'];
  say(missed.length === 0 ? `all ${chosen.length} variants are caught` : `not caught: ${missed.join(', ')}`);
  return missed.length === 0 ? 0 : 1;
}

async function isCaught(
  { name, breaks }: Variant,
  fault: Fault,
  run: (fault: Fault, seed: string) => Promise<Run>,
  say: (text: string) => void,
): Promise<boolean> {
  for (let number = 1; number <= RUNS; number += 1) {
    const { outcome } = await run(fault, `sabotage:${name}:${number}`);
    const { lost, accepted, failures } = outcome;
    // What a fault sends itself is not of the load, and its check tells what of it was lost.
    const own = failures.find((failure) => failure.endsWith('were not delivered'));
    if (lost > 0 || own !== undefined) {
      const told = own ?? `${lost} lost of ${accepted} envelopes`;
      say(`${name}: caught by ${fault.name} in run ${number}, ${told} (${breaks})`);
      return true;
    }
    say(`${name}: nothing lost in run ${number} of ${fault.name}. ${failures.join('; ')}`);
  }
  return false;
}

/** A copy of the sources with the patch, built. @returns its `dist` */
async function built({ name, file }: Variant): Promise<string> {
  const copy = join(root, '.relay', 'faults', 'sabotage', name);
  rmSync(copy, { recursive: true, force: true });
  mkdirSync(copy, { recursive: true });
  for (const part of ['apps', 'libs', 'package.json', 'tsconfig.json', 'nest-cli.json', '.swcrc'])
    cpSync(join(root, part), join(copy, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  await applied(file, copy);
  const nest = join(root, 'node_modules', '@nestjs', 'cli', 'bin', 'nest.js');
  await execute(process.execPath, [nest, 'build'], { cwd: copy });
  return join(copy, 'dist');
}

/** Git must not take the copy for a part of the repository that it stands in. */
async function applied(file: string, copy: string): Promise<void> {
  const env = { ...process.env, GIT_CEILING_DIRECTORIES: join(copy, '..') };
  await execute('git', ['apply', file], { cwd: copy, env });
}
