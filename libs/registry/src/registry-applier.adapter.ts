import { REGISTRY_APPLIED, REGISTRY_REBUILDING, runScript } from '@relay/redis';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { Freeze } from './freeze-watch.js';
import type { RegistryClaim } from './registry-claim.adapter.js';
import type { LoggedCommand } from './registry-log.port.js';
import { APPLY, registryKeys, SNAPSHOT, STATES } from './registry.script.js';

/** Limits of one call, which blocks Redis: the number of commands, and their bytes when there are several. */
const SLICE = 100;
const SLICE_BYTES = 64 * 1024;

const Reply = z.tuple([z.number(), z.string(), z.number()]);

/** Result of applying commands: the last offset, the requested result, and the reason why it ended. */
export interface Applied {
  readonly applied: number;
  readonly result: string | undefined;
  readonly state: (typeof STATES)[number];
}

/** State of the view: the last applied offset, -1 before the first, and whether it is being emptied. */
export interface Position {
  readonly applied: number;
  readonly isEmptying: boolean;
}

/** Commands were not applied; it names the reason. */
export class NotApplied extends Error {
  override readonly name = 'NotApplied';

  constructor(
    readonly state: Exclude<Applied['state'], 'applied'>,
    offset: number,
  ) {
    super(REASONS[state](offset));
  }
}

/** Applies commands of the log to Redis. */
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
