import { runScript, GLOBAL_TAG } from '@relay/redis';
import type { Redis } from 'ioredis';
import { EMPTIED, EMPTY, REMOVE, rebuildKeys, VIEW_KEYS } from './rebuild.script.js';
import type { RegistryLog } from './registry-log.port.js';
import { z } from 'zod';

/** Keys that one call scans; it removes at most as many. */
const SCANNED = 1_000;
const REMOVED = 100;

/**
 * Empties the view of a Redis whose next commands are deleted, so that the snapshot at the start of the log fills it. Several
 * processes may do it at once and each may die at any step: keys are removed only while the view says that it is being
 * emptied, which it says until one process has seen all keys, and nothing is applied meanwhile.
 * @returns whether the log has a whole snapshot at that offset; without one nothing is removed
 */
export async function emptyForSnapshot(redis: Redis, log: RegistryLog, start: number, end: number): Promise<boolean> {
  if (!(await isSnapshot(log, start, end))) return false;
  const run = (script: typeof EMPTY, keys: readonly string[] = []): Promise<unknown> =>
    runScript(redis, script, [...rebuildKeys, ...keys], [start]);
  if ((await run(EMPTY)) !== 1) return true;
  let cursor = '0';
  do {
    const [next, found] = await redis.scan(cursor, 'MATCH', `${GLOBAL_TAG}:*`, 'COUNT', SCANNED);
    cursor = next;
    const keys = found.filter(isOfView);
    for (let at = 0; at < keys.length; at += REMOVED)
      if ((await run(REMOVE, keys.slice(at, at + REMOVED))) !== 1) return true;
  } while (cursor !== '0');
  await run(EMPTIED);
  return true;
}

const isOfView = (key: string): boolean =>
  !rebuildKeys.some((own) => own === key) && VIEW_KEYS.some((name) => key === name || key.startsWith(`${name}:`));

/** Whether a whole snapshot begins at the log's start; without one the view stays unchanged. */
async function isSnapshot(log: RegistryLog, start: number, end: number): Promise<boolean> {
  const reading = new SnapshotReading();
  const enough = new Error('enough was read');
  try {
    await log.read(start, end, (commands) => {
      const isReading = commands.every(({ value }) => reading.take(value));
      return isReading ? Promise.resolve() : Promise.reject(enough);
    });
  } catch (error) {
    if (error !== enough) throw error;
  }
  return reading.isWhole;
}

/** A record of a snapshot in the log; `at` is epoch milliseconds. */
const SnapshotRecord = z.object({
  v: z.literal(1),
  id: z.string(),
  entity: z.literal('snapshot'),
  command: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('begin'), snapshot: z.string() }),
    z.object({
      kind: z.literal('restore'),
      snapshot: z.string(),
      n: z.number(),
      part: z.string(),
      items: z.array(z.string()),
    }),
    z.object({
      kind: z.literal('end'),
      snapshot: z.string(),
      records: z.number(),
      counts: z.record(z.string(), z.number()),
      at: z.number(),
    }),
    z.object({ kind: z.literal('abort'), snapshot: z.string() }),
  ]),
});
export type SnapshotCommand = z.infer<typeof SnapshotRecord>['command'];

/** The snapshot's command in a record of the log; undefined for any other record. */
export function snapshotCommandOf(value: Buffer): SnapshotCommand | undefined {
  try {
    return SnapshotRecord.safeParse(JSON.parse(value.toString('utf8'))).data?.command;
  } catch {
    return undefined;
  }
}

class SnapshotReading {
  #snapshot: string | undefined;
  #next = 0;
  #isWhole = false;

  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Whether it takes more records to know. */
  take(value: Buffer): boolean {
    const command = snapshotCommandOf(value);
    if (this.#snapshot === undefined) {
      this.#snapshot = command?.kind === 'begin' ? command.snapshot : undefined;
      return this.#snapshot !== undefined;
    }
    if (command?.snapshot !== this.#snapshot) return true;
    if (command.kind === 'restore' && command.n === this.#next) this.#next += 1;
    this.#isWhole = command.kind === 'end' && command.records === this.#next;
    return command.kind === 'restore' || command.kind === 'begin';
  }
}
