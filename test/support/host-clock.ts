import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Start } from './app.js';

const PRELOADED = pathToFileURL(join(import.meta.dirname, 'moved-clock.mjs')).href;

/** The clock of a host of its own, for the processes that are started with it. */
export class HostClock {
  readonly #folder = mkdtempSync(join(tmpdir(), 'relay-clock-'));

  constructor() {
    this.set(0);
  }

  get start(): Start {
    return { env: { HOST_CLOCK_FILE: join(this.#folder, 'ahead') }, nodeOptions: [`--import=${PRELOADED}`] };
  }

  /** @param hours by which it is ahead of the right time from now on */
  set(hours: number): void {
    const written = join(this.#folder, 'written');
    writeFileSync(written, String(hours * 3_600_000));
    renameSync(written, join(this.#folder, 'ahead'));
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true });
  }
}
