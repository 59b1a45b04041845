import cliProgress from 'cli-progress';
import type { Shell } from './shell.js';

/** What is shown while something lasts. */
export interface Progress {
  begin(what: string, records: number): void;
  done(records: number): void;
  note(text: string): void;
}

const LINE_EVERY_MS = 2_000;

/** A bar with rate and time left on a terminal; else a line now and then; nothing for a program that wants JSON. */
export function shownProgress(
  shell: Shell,
  { json, terminal }: { json: boolean; terminal: boolean },
): Progress & { end(): void } {
  if (json) return { begin: () => undefined, done: () => undefined, note: () => undefined, end: () => undefined };
  return terminal ? bars(shell) : lines(shell);
}

function bars(shell: Shell): Progress & { end(): void } {
  const bar = new cliProgress.SingleBar(
    {
      format: '{what} {bar} {percentage} % | {value} of {total} | {rate}/s | {eta_formatted} left',
      hideCursor: true,
      stream: process.stderr,
    },
    cliProgress.Presets.shades_classic,
  );
  let [startedAt, done, isOpen] = [0, 0, false];
  const end = (): void => {
    if (isOpen) bar.stop();
    isOpen = false;
  };
  return {
    begin: (what, records) => {
      end();
      [startedAt, done, isOpen] = [performance.now(), 0, true];
      bar.start(records, 0, { what, rate: 0 });
    },
    done: (records) => {
      done += records;
      bar.increment(records, { rate: Math.round((done * 1_000) / Math.max(1, performance.now() - startedAt)) });
    },
    note: (text) => shell.note(text),
    end,
  };
}

function lines(shell: Shell): Progress & { end(): void } {
  let [doing, total, done, startedAt, toldAt] = ['', 0, 0, 0, 0];
  const tell = (): void => {
    const seconds = (performance.now() - startedAt) / 1_000;
    const rate = Math.round(done / Math.max(0.001, seconds));
    const left = rate === 0 ? '' : `, ${Math.round((total - done) / rate)} s left`;
    shell.note(`${doing}: ${done} of ${total} records, ${rate}/s${left}`);
    toldAt = performance.now();
  };
  return {
    begin: (what, records) => {
      [doing, total, done, startedAt, toldAt] = [what, records, 0, performance.now(), performance.now()];
      shell.note(`${what}: ${records} records`);
    },
    done: (records) => {
      done += records;
      if (performance.now() - toldAt > LINE_EVERY_MS) tell();
    },
    note: (text) => shell.note(text),
    end: () => undefined,
  };
}
