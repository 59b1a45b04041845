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

/** Limits of one call, during which Redis is blocked: number of commands, and their total bytes if there are several. */
const SLICE = 100;
const SLICE_BYTES = 64 * 1024;

const Reply = z.tuple([z.number(), z.string(), z.number()]);

/**
 * Result of applying commands.
 * @property applied the last offset that is applied in Redis
 * @property result the requested result as JSON; undefined if there is none
 * @property state `applied`, or why the script stopped
 */
interface Applied {
  readonly applied: number;
  readonly result: string | undefined;
  readonly state: (typeof STATES)[number];
}

/**
 * State of the view in Redis.
 * @property applied the last offset that was applied, -1 before the first
 * @property isEmptying whether the view is being emptied
 */
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

  /** Marks an empty Redis as the view of a log that has no commands yet. */
  async markEmpty(): Promise<void> {
    await this.redis.setnx(REGISTRY_APPLIED, '-1');
  }

  async freeze(): Promise<Freeze | undefined> {
    const [snapshot, next] = await this.redis.hmget(SNAPSHOT, 'id', 'next');
    return typeof snapshot === 'string' ? { snapshot, next: Number(next) } : undefined;
  }

  /**
   * Applies commands.
   * @param first offset from which on the commands are complete: no command of the log between this offset and the last one
   *   is missing
   * @param id id of the command whose result the caller needs
   */
  async apply(first: number, commands: readonly LoggedCommand[], id = ''): Promise<Applied> {
    const args = commands.flatMap(({ offset, value }) => [offset, value]);
    const [applied, result, state] = Reply.parse(
      await runScript(this.redis, APPLY, registryKeys, [id, first, this.claim.text, ...args]),
    );
    return { applied, result: result === '' ? undefined : result, state: STATES[state] ?? 'newer' };
  }

  /**
   * Applies consecutive commands, starting at `first`.
   * @throws NotApplied if the script stopped; Error if Redis has lost its latest writes meanwhile
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

/** The snapshot that is being written, during which nothing may change, and the number of its next record. */
interface Freeze {
  readonly snapshot: string;
  readonly next: number;
}

/** A snapshot that makes no progress for this time is aborted, because the process that writes it has died or hangs. */
const STUCK_MS = 10_000;

/** Watches whether the snapshot that is being written makes progress. */
export class FreezeWatch {
  #seen: Freeze | undefined;
  #since = 0;

  /** @param now time of a monotonic clock, in ms */
  look(freeze: Freeze | undefined, now: number): 'none' | 'moving' | 'stuck' {
    if (freeze?.snapshot !== this.#seen?.snapshot || freeze?.next !== this.#seen?.next) {
      this.#seen = freeze;
      this.#since = now;
    }
    if (freeze === undefined) return 'none';
    return now - this.#since >= STUCK_MS ? 'stuck' : 'moving';
  }
}

/** Makes a command for the log. It gets an id of its own. */
export function commandOf(entity: Entity | 'snapshot', command: object): { id: string; value: Buffer } {
  const id = randomUUID();
  return { id, value: Buffer.from(JSON.stringify({ v: 1, id, entity, at: Date.now(), command })) };
}

/** Whether a command had no effect because a snapshot was being written. */
export const isFrozen = (result: unknown): boolean =>
  typeof result === 'object' && result !== null && 'kind' in result && result.kind === 'frozen';

/** Number of keys that one SCAN examines. `REMOVED` is the maximum number of keys that one call removes. */
const SCANNED = 1_000;
const REMOVED = 100;

/**
 * Empties the view in Redis, so that the snapshot at the start of the log can fill it again. This is necessary if the log no
 * longer has the commands that must be applied to the view next. Several processes may empty the view at the same time, and
 * each may die at any step. This is safe because keys are removed only while a mark in Redis says that the view is being
 * emptied. The mark stays until one process has seen all keys, and no command is applied before that.
 * @returns whether a whole snapshot begins at `start`; if not, nothing is removed
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

/** Returns whether a whole snapshot begins at the start of the log. If not, the view must stay unchanged. */
async function isSnapshot(log: RegistryLog, start: number, end: number): Promise<boolean> {
  let [snapshot, next, isWhole]: [string | undefined, number, boolean] = [undefined, 0, false];
  /** Takes the next record. Returns whether more records are needed for the answer. */
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

/** A record of a snapshot in the log. `at` is in epoch milliseconds. */
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

/** Returns the snapshot command in a record of the log; undefined if the record is not part of a snapshot. */
export function snapshotCommandOf(value: Buffer): SnapshotCommand | undefined {
  try {
    return SnapshotRecord.safeParse(JSON.parse(value.toString('utf8'))).data?.command;
  } catch {
    return undefined;
  }
}
