import cliProgress from 'cli-progress';
import type { Shell } from './shell.js';

export interface Progress {
  /** @param before number of records done before this run. They count as progress, but not for the rate */
  begin(what: string, records: number, before?: number): void;
  done(records: number): void;
  note(text: string): void;
}

const LINE_EVERY_MS = 2_000;

/**
 * Shows progress as a bar with the rate and the time left on a terminal, otherwise as a line every two seconds. With
 * `--json`, it shows nothing.
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
      // With this size, the rate and the time left fit into 80 columns.
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
  let [doing, total, before, done, startedAt, shownAt] = ['', 0, 0, 0, 0, 0];
  const show = (): void => {
    const seconds = (performance.now() - startedAt) / 1_000;
    const rate = Math.round(done / Math.max(0.001, seconds));
    const left = rate === 0 ? '' : `, ${Math.round((total - before - done) / rate)} s left`;
    shell.note(`${doing}: ${before + done} of ${total} records, ${rate}/s${left}`);
    shownAt = performance.now();
  };
  return {
    begin: (what, records, earlier = 0) => {
      [doing, total, before, done] = [what, records, earlier, 0];
      startedAt = shownAt = performance.now();
      shell.note(`${what}: ${before === 0 ? '' : `${before} of `}${records} records`);
    },
    done: (records) => {
      done += records;
      if (performance.now() - shownAt > LINE_EVERY_MS) show();
    },
    note: (text) => shell.note(text),
    end: () => undefined,
  };
}
