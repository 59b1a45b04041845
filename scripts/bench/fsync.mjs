// Time of a write that survives a power cut: Redis makes one for each turn of its loop with a write.
import { closeSync, fdatasyncSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { quantile } from './numbers.mjs';
import { now } from './tool.mjs';

const BYTES = 300; // of the append-only file for one envelope
const IN_ONE_TURN = 50; // Ctrl-C is heard in between

/** Appends to a file of its own in the folder, `count` times; in ms. */
export async function fsyncTimes(folder, count) {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'fsync');
  const handle = openSync(file, 'a');
  const bytes = Buffer.alloc(BYTES, 'x');
  const times = [];
  try {
    while (times.length < count) {
      const from = now();
      writeSync(handle, bytes);
      fdatasyncSync(handle);
      times.push(now() - from);
      if (times.length % IN_ONE_TURN === 0) await turn();
    }
  } finally {
    closeSync(handle);
    rmSync(file, { force: true });
  }
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}
