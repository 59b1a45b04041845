import cliProgress from 'cli-progress';
import type { Shell } from './shell.js';

/** What is shown while something lasts. */
export interface Progress {
  /** @param before how many of the records were done when this began: they count for how far it is, not for how fast */
  begin(what: string, records: number, before?: number): void;
  done(records: number): void;
  note(text: string): void;
}

const LINE_EVERY_MS = 2_000;

/**
 * A bar with rate and time left on a terminal; else a line now and then; nothing for a program that wants JSON.
 * @param stream where the bar is drawn
 */
export function shownProgress(
  shell: Shell,
  json: boolean,
  stream: NodeJS.WritableStream = process.stderr,
): Progress & { end(): void } {
  if (json) return { begin: () => undefined, done: () => undefined, note: () => undefined, end: () => undefined };
  return shell.isTerminal ? bars(shell, stream) : lines(shell);
}

function bars(shell: Shell, stream: NodeJS.WritableStream): Progress & { end(): void } {
  let [startedAt, toDo, done, isOpen] = [0, 0, 0, false];
  const bar = new cliProgress.SingleBar(
    {
      format: '{what} {bar} {percentage} % | {value} of {total} | {rate}/s | {eta_formatted} left',
      // Rate and time left are within 80 columns: what is behind them cannot be seen.
      barsize: 20,
      formatTime: (seconds, options, step) =>
        done === 0 && toDo > 0 ? '?' : cliProgress.Format.TimeFormat(seconds, options, step),
      hideCursor: true,
      stream,
    },
    cliProgress.Presets.shades_classic,
  );
  const end = (): void => {
    if (isOpen) bar.stop();
    isOpen = false;
  };
  return {
    begin: (what, records, before = 0) => {
      end();
      [startedAt, toDo, done, isOpen] = [performance.now(), records - before, 0, true];
      bar.start(records, before, { what, rate: 0 });
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
  let [doing, total, before, done, startedAt, toldAt] = ['', 0, 0, 0, 0, 0];
  const tell = (): void => {
    const seconds = (performance.now() - startedAt) / 1_000;
    const rate = Math.round(done / Math.max(0.001, seconds));
    const left = rate === 0 ? '' : `, ${Math.round((total - before - done) / rate)} s left`;
    shell.note(`${doing}: ${before + done} of ${total} records, ${rate}/s${left}`);
    toldAt = performance.now();
  };
  return {
    begin: (what, records, earlier = 0) => {
      [doing, total, before, done] = [what, records, earlier, 0];
      startedAt = toldAt = performance.now();
      shell.note(`${what}: ${before === 0 ? '' : `${before} of `}${records} records`);
    },
    done: (records) => {
      done += records;
      if (performance.now() - toldAt > LINE_EVERY_MS) tell();
    },
    note: (text) => shell.note(text),
    end: () => undefined,
  };
}
