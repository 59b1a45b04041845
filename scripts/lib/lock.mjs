// One at a time among processes: a file that holds its owner's process id. A dead owner's lock is taken over.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { commandLine } from './process.mjs';

export async function withLock(path, signal, task) {
  mkdirSync(dirname(path), { recursive: true });
  while (!take(path)) {
    const owner = ownerOf(path);
    if (owner && !(await commandLine(owner)).includes('.mjs') && owner === ownerOf(path)) rmSync(path, { force: true });
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

function ownerOf(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
