// One at a time among processes: a file that holds the id of the process that has the lock. A dead process loses it.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { commandLine } from './process.mjs';

export async function withLock(path, signal, task) {
  mkdirSync(dirname(path), { recursive: true });
  while (!take(path)) {
    const pid = pidIn(path);
    if (pid && !(await commandLine(pid)).includes('.mjs') && pid === pidIn(path)) rmSync(path, { force: true });
    else await delay(150, undefined, { signal });
  }
  try {
    return await task();
  } finally {
    rmSync(path, { force: true });
  }
}

function take(path) {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

function pidIn(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
