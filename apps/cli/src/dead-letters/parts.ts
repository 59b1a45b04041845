import type { Shell } from '../shell.js';
import type { Selection } from './selection.js';

/** Ids that one request may name. */
const MOST_IDS = 1_000;

interface Part {
  readonly missing: readonly string[];
  readonly complete: boolean;
  readonly after?: string;
}

/** Asks again until all selected dead letters are looked at: the app answers after some seconds with the part that is done. */
export async function* parts<Report extends Part>(
  ids: readonly string[],
  { all, type, reason, webhook }: Selection,
  ask: (body: object) => Promise<Report>,
): AsyncGenerator<Report> {
  const selections =
    ids.length === 0
      ? [{ all, type, reason, webhook }]
      : slices(ids).map((slice) => ({ ids: slice, all, type, reason, webhook }));
  for (const selection of selections) {
    let part = await ask(selection);
    yield part;
    while (!part.complete) {
      part = await ask({ ...selection, after: part.after });
      // What an earlier part has ended is no dead letter any more.
      yield { ...part, missing: [] };
    }
  }
}

const slices = (ids: readonly string[]): string[][] =>
  Array.from({ length: Math.ceil(ids.length / MOST_IDS) }, (_, at) => ids.slice(at * MOST_IDS, (at + 1) * MOST_IDS));

/**
 * Adds up the parts until the command is interrupted; a fault says how far it came.
 * @param add returns what is done by now
 * @returns whether all parts are done
 */
export async function eachPart<Report>(
  shell: Shell,
  all: AsyncIterable<Report>,
  add: (part: Report) => string,
): Promise<boolean> {
  let done: string | undefined;
  let isInterrupted = false;
  void shell.interrupted().then(() => (isInterrupted = true));
  try {
    for await (const part of all) {
      done = add(part);
      if (!isInterrupted) continue;
      shell.note('interrupted: the same command goes on with the rest');
      return false;
    }
    return true;
  } catch (error) {
    if (done !== undefined) shell.note(`${done} by now`);
    throw error;
  }
}
