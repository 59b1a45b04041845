import { randomUUID } from 'node:crypto';
import { REGISTRY_APPLIED, REGISTRY_REBUILDING, runScript, GLOBAL_TAG } from '@relay/redis';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import {
  APPLY,
  EMPTIED,
  EMPTY,
  type Entity,
  rebuildKeys,
  registryKeys,
  REMOVE,
  SNAPSHOT,
  STATES,
  VIEW_KEYS,
} from './registry.script.js';
import type { RegistryClaim } from './registry-claim.adapter.js';
import type { LoggedCommand, RegistryLog } from './registry-log.port.js';

/** Limits of one call, which blocks Redis: the number of commands, and their bytes when there are several. */
const SLICE = 100;
const SLICE_BYTES = 64 * 1024;

const Reply = z.tuple([z.number(), z.string(), z.number()]);

/** Result of applying commands: the last offset, the requested result, and the reason why it ended. */
interface Applied {
  readonly applied: number;
  readonly result: string | undefined;
  readonly state: (typeof STATES)[number];
}

/** State of the view: the last applied offset, -1 before the first, and whether it is being emptied. */
interface Position {
  readonly applied: number;
  readonly isEmptying: boolean;
}

export class NotApplied extends Error {
  override readonly name = 'NotApplied';

  constructor(
    readonly state: Exclude<Applied['state'], 'applied'>,
    offset: number,
  ) {
    super(REASONS[state](offset));
  }
}

export class RegistryApplier {
  constructor(
    private readonly redis: Redis,
    private readonly claim: Pick<RegistryClaim, 'text'>,
  ) {}

  async position(): Promise<Position> {
    const [applied, rebuilding] = await this.redis.mget(REGISTRY_APPLIED, REGISTRY_REBUILDING);
    return { applied: Number(applied ?? -1), isEmptying: rebuilding?.startsWith('empty') ?? false };
  }

  /** Makes Redis the view of a log without any command. */
  async markEmpty(): Promise<void> {
    await this.redis.setnx(REGISTRY_APPLIED, '-1');
  }

  async freeze(): Promise<Freeze | undefined> {
    const [snapshot, next] = await this.redis.hmget(SNAPSHOT, 'id', 'next');
    return typeof snapshot === 'string' ? { snapshot, next: Number(next) } : undefined;
  }

  /**
   * @param first offset of the first of these commands, which are complete from there on
   * @param id the command whose result the caller needs
   */
  async apply(first: number, commands: readonly LoggedCommand[], id = ''): Promise<Applied> {
    const args = commands.flatMap(({ offset, value }) => [offset, value]);
    const [applied, result, state] = Reply.parse(
      await runScript(this.redis, APPLY, registryKeys, [id, first, this.claim.text, ...args]),
    );
    return { applied, result: result === '' ? undefined : result, state: STATES[state] ?? 'newer' };
  }

  /**
   * Applies consecutive commands from `first` on.
   * @throws NotApplied, or Error when Redis went back in time
   */
  async applyAll(first: number, commands: readonly LoggedCommand[]): Promise<void> {
    let next = first;
    for (const slice of slicesOf(commands)) {
      const { applied, state } = await this.apply(next, slice);
      if (state !== 'applied') throw new NotApplied(state, applied + 1);
      const last = slice.at(-1)?.offset ?? next;
      if (applied < last) throw new Error('Redis went back in time meanwhile');
      next = last + 1;
    }
  }
}

const REASONS: Readonly<Record<Exclude<Applied['state'], 'applied'>, (offset: number) => string>> = {
  newer: (offset) => `the command at ${offset} was written by a newer relay: update this one`,
  emptying: () => 'the view in Redis is being rebuilt',
  broken: (offset) => `the snapshot that ends at ${offset} is not whole: Redis cannot be rebuilt from it`,
  unclean: (offset) => `the log begins with a snapshot at ${offset}, and Redis holds something else`,
  unclaimed: () => 'this Redis is not claimed by this deployment any more',
};

function slicesOf(commands: readonly LoggedCommand[]): LoggedCommand[][] {
  const slices: LoggedCommand[][] = [];
  let bytes = 0;
  for (const command of commands) {
    const slice = slices.at(-1);
    bytes += command.value.length;
    if (slice === undefined || slice.length >= SLICE || bytes > SLICE_BYTES) {
      slices.push([command]);
      bytes = command.value.length;
    } else slice.push(command);
  }
  return slices;
}

/** The snapshot under way, during which nothing changes, and the number of its next record. */
interface Freeze {
  readonly snapshot: string;
  readonly next: number;
}

/** A snapshot without progress for this time is given up: its process has died or hangs. */
const STUCK_MS = 10_000;

/** Watches the progress of the snapshot under way, as this process sees it. */
export class FreezeWatch {
  #seen: Freeze | undefined;
  #since = 0;

  /** @param now time of a monotonic clock in milliseconds */
  look(freeze: Freeze | undefined, now: number): 'none' | 'moving' | 'stuck' {
    if (freeze?.snapshot !== this.#seen?.snapshot || freeze?.next !== this.#seen?.next) {
      this.#seen = freeze;
      this.#since = now;
    }
    if (freeze === undefined) return 'none';
    return now - this.#since >= STUCK_MS ? 'stuck' : 'moving';
  }
}

/** A command in the log, under an id of its own. */
export function commandOf(entity: Entity | 'snapshot', command: object): { id: string; value: Buffer } {
  const id = randomUUID();
  return { id, value: Buffer.from(JSON.stringify({ v: 1, id, entity, at: Date.now(), command })) };
}

/** Whether a command had no effect because a snapshot was under way. */
export const isFrozen = (result: unknown): boolean =>
  typeof result === 'object' && result !== null && 'kind' in result && result.kind === 'frozen';

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
  let [snapshot, next, isWhole]: [string | undefined, number, boolean] = [undefined, 0, false];
  /** Whether it takes more records to know. */
  const take = ({ value }: LoggedCommand): boolean => {
    const command = snapshotCommandOf(value);
    if (snapshot === undefined) {
      snapshot = command?.kind === 'begin' ? command.snapshot : undefined;
      return snapshot !== undefined;
    }
    if (command?.snapshot !== snapshot) return true;
    if (command.kind === 'restore' && command.n === next) next += 1;
    isWhole = command.kind === 'end' && command.records === next;
    return command.kind === 'restore' || command.kind === 'begin';
  };
  const enough = new Error('enough was read');
  try {
    await log.read(start, end, (commands) => (commands.every(take) ? Promise.resolve() : Promise.reject(enough)));
  } catch (error) {
    if (error !== enough) throw error;
  }
  return isWhole;
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
