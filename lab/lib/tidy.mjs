// Takes away what namespaces of a run leave: its cgroups, the places of its mounts, its home. Run as a program it waits for the end of its
// input first, which comes with the end of the run that holds it, also when that is killed.
import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { removeCgroups } from './cgroups.mjs';
import { until } from '../../scripts/lib/process.mjs';

/** @param home of namespaces whose processes have ended, or are ending */
export async function tidy(home) {
  await until(() => hasGone(() => removeCgroups(basename(home))), 30_000);
  const made = join(home, 'made');
  if (existsSync(made)) for (const path of readFileSync(made, 'utf8').trim().split('\n')) removeEmpty(path);
  await until(() => hasGone(() => rmSync(home, { recursive: true, force: true })), 30_000);
}

/** The kernel needs a moment for what a killed process had. */
function hasGone(task) {
  try {
    task();
    return true;
  } catch (error) {
    if (['EBUSY', 'ENOTEMPTY'].includes(error.code)) return false;
    throw error;
  }
}

function removeEmpty(path) {
  if (existsSync(path) && readdirSync(path).length === 0) rmdirSync(path);
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  process.stdin.resume();
  process.stdin.on('end', () => tidy(process.argv[2]));
}
