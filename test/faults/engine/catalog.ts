import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Fault } from './fault.js';

const folder = join(import.meta.dirname, '..', 'rows');

/** Every fault of every file in `rows/`, by row. */
export async function allFaults(): Promise<Fault[]> {
  const files = readdirSync(folder).filter((name) => name.endsWith('.ts'));
  const modules = files
    .toSorted()
    .map((name) => import(pathToFileURL(join(folder, name)).href) as Promise<{ faults: readonly Fault[] }>);
  const faults = (await Promise.all(modules)).flatMap((module) => module.faults);
  return faults.toSorted((a, b) => a.row - b.row);
}

/** @param wanted rows or names; all when there are none. @throws Error for one that does not exist */
export function chosen(faults: readonly Fault[], wanted: readonly string[]): Fault[] {
  for (const one of wanted)
    if (!faults.some(({ row, name }) => String(row) === one || name === one))
      throw new Error(`there is no fault ${one}: ${faults.map(({ name }) => name).join(', ')}`);
  return faults.filter(({ row, name }) => wanted.length === 0 || wanted.includes(String(row)) || wanted.includes(name));
}
