import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, Optional } from '@nestjs/common';
import { answeredWithin } from '@relay/kafka';
import { RegistryUnavailable, type LogView } from '@relay/redis';
import { Log, reasonOf } from '@relay/telemetry';
import { Redis } from 'ioredis';
import {
  FreezeWatch,
  NotApplied,
  RegistryApplier,
  commandOf,
  isFrozen,
  emptyForSnapshot,
  type SnapshotCommand,
} from './registry-applier.adapter.js';
import { RegistryClaim } from './registry-claim.adapter.js';
import { RegistryLog } from './registry-log.port.js';
import type { Entity } from './registry.script.js';

/** A change is answered after at most this time, in milliseconds. An append to the log gives up earlier. */
const DEADLINE_MS = 9_000;
/** A sender waits this long for other senders to apply their earlier commands. Then it reads these commands from the log. */
const PATIENCE_MS = 300;
/** Interval at which a waiting sender looks at Redis. */
const STEP_MS = 20;
/** Interval at which a sender checks whether a snapshot has ended. */
const FROZEN_STEP_MS = 50;

/**
 * Redis as a view of the registry. A change is appended to the log. The first process that sees the command applies it to
 * Redis, in the log's order; the script ignores a command that is applied already. After every new connection, Redis may
 * lack commands that it had before, for example because it was restored from a backup. Missing commands are applied from the
 * log before anything is read. While a snapshot is under way, changes wait.
 */
@Injectable()
export class RegistryView {
  readonly #applier: RegistryApplier;
  readonly #freezes = new FreezeWatch();
  #connections = 0;
  #isCurrent = false;
  #catchingUp: Promise<void> | undefined;
  #settling: Promise<void> | undefined;
  #nextSettling: Promise<void> | undefined;
  #fault: string | undefined;

  constructor(
    private readonly redis: Redis,
    private readonly registryLog: RegistryLog,
    @Inject(Log) private readonly log: Log,
    @Optional() readonly claim = new RegistryClaim(redis, registryLog),
  ) {
    this.#applier = new RegistryApplier(redis, claim);
    const doubt = (): void => {
      this.#connections += 1;
      this.#isCurrent = false;
    };
    redis.on('close', doubt);
    redis.on('ready', doubt);
  }

  /** A fault that only an operator can repair; changes are refused while it lasts. */
  get fault(): string | undefined {
    return this.#fault;
  }

  of<Command extends object>(entity: Entity): LogView<Command> {
    return {
      current: () => this.current(),
      catchUp: () => this.catchUp(),
      settled: () => this.settled(),
      change: (command) => this.change(entity, command),
    };
  }

  /**
   * Resolves at once unless the connection to Redis is new. After a new connection, it resolves when Redis has every command
   * in the log.
   * @throws RegistryUnavailable if the log or Redis cannot be read
   */
  async current(): Promise<void> {
    while (!this.#isCurrent) await this.catchUp();
  }

  /**
   * Applies every command in the log that Redis lacks. Concurrent calls share one read of the log.
   * @throws RegistryUnavailable if the log or Redis cannot be read
   */
  catchUp(): Promise<void> {
    this.#catchingUp ??= unlessAway(this.#catchUp()).finally(() => (this.#catchingUp = undefined));
    return this.#catchingUp;
  }

  /**
   * Resolves when Redis shows every command that the log had at the time of the call. It serves answers for which no command
   * is appended. Callers share the next read of the log, but never a read that began before their call.
   * @throws RegistryUnavailable if the log or Redis cannot be read
   */
  settled(): Promise<void> {
    this.#nextSettling ??= this.#settleAfter(this.#settling);
    return this.#nextSettling;
  }

  /**
   * Appends a command and applies it. If the command had no effect because a snapshot was under way, it is repeated under
   * another id.
   * @returns the result of the command
   * @throws RegistryUnavailable after at most 10 s
   */
  async change(entity: Entity, command: object): Promise<unknown> {
    const deadline = Date.now() + DEADLINE_MS;
    for (;;) {
      await this.#thawed(entity, deadline);
      const result = await this.#send(entity, command, deadline);
      if (!isFrozen(result)) return result;
    }
  }

  /** Appends a command of a snapshot and applies it. Unlike `change`, it does not wait for the end of a snapshot. */
  order(command: SnapshotCommand): Promise<unknown> {
    return this.#send('snapshot', command, Date.now() + DEADLINE_MS);
  }

  /**
   * Appends records of a snapshot, in this order, and applies them.
   * @returns whether that snapshot is still under way
   */
  async restore(snapshot: string, records: readonly SnapshotCommand[]): Promise<boolean> {
    const logged = await Promise.all(
      records.map(async (command) => {
        const { id, value } = commandOf('snapshot', command);
        return { offset: await this.registryLog.append(id, value), value };
      }),
    );
    const run = logged.flatMap(({ offset, value }) => (offset === undefined ? [] : [{ offset, value }]));
    const first = run[0]?.offset ?? 0;
    const isRun = run.length === logged.length && run.every(({ offset }, index) => offset === first + index);
    const isApplied =
      isRun &&
      (await this.#applier.applyAll(first, run).then(
        () => true,
        () => false,
      ));
    // A command of another sender lies before these records or between them, so they are applied from the log.
    if (!isApplied) await this.catchUp();
    return (await this.#applier.freeze())?.snapshot === snapshot;
  }

  /**
   * Ends a snapshot without progress, whichever process began it. No client or webhook can change before the snapshot ends.
   */
  async endStuckSnapshot(): Promise<void> {
    const freeze = await this.#applier.freeze();
    if (this.#freezes.look(freeze, performance.now()) !== 'stuck' || freeze === undefined) return;
    const { snapshot } = freeze;
    await this.order({ kind: 'abort', snapshot });
    this.log.warn('registry.snapshot_given_up', 'A snapshot of the registry made no progress and was given up', {
      snapshot,
    });
  }

  async #send(entity: Entity | 'snapshot', command: object, deadline: number): Promise<unknown> {
    if (this.redis.status !== 'ready') throw new RegistryUnavailable('Redis is away', false);
    if (this.#fault !== undefined) await this.catchUp();
    await unlessAway(this.claim.made());
    if (this.#fault !== undefined) throw new RegistryUnavailable(this.#fault, false);
    const { id, value } = commandOf(entity, command);
    try {
      const offset = await this.registryLog.append(id, value);
      return JSON.parse(
        await answeredWithin(Math.max(0, deadline - Date.now()), this.#answer(id, value, offset, deadline), overdue),
      );
    } catch (cause) {
      throw new RegistryUnavailable(`A change of a ${entity} was not confirmed: ${reasonOf(cause)}`, true, cause);
    }
  }

  /** Waits for the end of a snapshot, because a command appended during it has no effect. */
  async #thawed(entity: Entity, deadline: number): Promise<void> {
    while (this.redis.status === 'ready' && (await this.#isFrozen())) {
      if (Date.now() + FROZEN_STEP_MS > deadline)
        throw new RegistryUnavailable(`A snapshot of the registry is being made: no ${entity} can be changed`, false);
      await delay(FROZEN_STEP_MS);
    }
  }

  async #isFrozen(): Promise<boolean> {
    try {
      const freeze = await this.#applier.freeze();
      if (this.#freezes.look(freeze, performance.now()) === 'stuck') await this.endStuckSnapshot();
      return freeze !== undefined;
    } catch (cause) {
      throw new RegistryUnavailable(`Redis does not answer: ${reasonOf(cause)}`, false, cause);
    }
  }

  async #answer(id: string, value: Buffer, offset: number | undefined, deadline: number): Promise<string> {
    const patience = Date.now() + PATIENCE_MS;
    while (Date.now() < deadline) {
      const commands = offset === undefined ? [] : [{ offset, value }];
      const { applied, result, state } = await this.#applier.apply(offset ?? 0, commands, id);
      if (result !== undefined) return result;
      if (state !== 'unclaimed' && offset !== undefined && applied >= offset)
        throw new Error(this.#behind(applied, offset));
      // Earlier commands are not applied yet: their senders are about to apply them, or have died.
      if (offset !== undefined && Date.now() < patience) await delay(STEP_MS);
      else await this.catchUp();
      if (this.#fault !== undefined) throw new Error(this.#fault);
    }
    throw new Error('no result within the deadline');
  }

  async #settleAfter(running: Promise<void> | undefined): Promise<void> {
    await running?.catch(() => undefined);
    this.#settling = this.#nextSettling;
    this.#nextSettling = undefined;
    await this.#settle();
  }

  async #settle(): Promise<void> {
    const { end } = await unlessAway(this.registryLog.bounds());
    // Commands whose senders are about to apply them need not be read from the log.
    for (const patience = Date.now() + PATIENCE_MS; Date.now() < patience; await delay(STEP_MS))
      if ((await unlessAway(this.#applier.position())).applied + 1 >= end) return;
    await this.catchUp();
  }

  async #catchUp(): Promise<void> {
    const connections = this.#connections;
    await this.claim.compare();
    const { applied, isEmptying } = await this.#applier.position();
    const from = applied + 1;
    const { start, end } = await this.registryLog.bounds();
    this.#fault = undefined;
    if (from > end) this.#behind(applied, end);
    else if (from < start || isEmptying) await this.#rebuild(from, start, end);
    else if (from < end) await this.#applyFrom(from, end);
    else if (end === 0) await this.#applier.markEmpty();
    if (connections === this.#connections) this.#isCurrent = true;
  }

  async #applyFrom(from: number, end: number): Promise<void> {
    let next = from;
    try {
      await this.registryLog.read(from, end, async (commands) => {
        const first = commands[0]?.offset ?? next;
        // There are no commands at the offsets before `first`. Either there never were any, or they were just deleted after
        // a snapshot.
        if (first > next && (await this.registryLog.bounds()).start > next)
          throw new Error(`the commands from ${next} on went meanwhile, after a snapshot`);
        await this.#applier.applyAll(next, commands);
        next = (commands.at(-1)?.offset ?? next) + 1;
      });
    } catch (error) {
      if (!(error instanceof NotApplied && error.state === 'unclean')) throw error;
      return this.#rebuild(from, from, end);
    }
    this.log.info(
      'registry.caught_up',
      'Redis lacked changes of clients and webhooks; they were applied from the registry',
      { from, end },
    );
  }

  /** Removes the view and fills it from the snapshot in the log, because Redis lacks commands that the log no longer has. */
  async #rebuild(from: number, start: number, end: number): Promise<void> {
    if (!(await emptyForSnapshot(this.redis, this.registryLog, start, end)))
      throw new Error(
        `its commands before offset ${start} are gone, no snapshot stands for them, and Redis has ${from} of them`,
      );
    this.log.warn(
      'registry.rebuilt',
      'Redis was older than the registry; its clients and webhooks were removed and are restored from the snapshot',
      { from, start },
    );
    const { applied, isEmptying } = await this.#applier.position();
    if (isEmptying || applied + 1 < start) throw new Error('another process has begun to rebuild Redis');
    await this.#applyFrom(applied + 1, end);
  }

  /** Redis has applied commands that are not in this log. Sets the fault and returns it. */
  #behind(applied: number, end: number): string {
    this.#fault = `Redis has applied changes up to offset ${applied} of the registry, which ends at ${end}: its topic was recreated, or belongs to another Redis`;
    this.log.error(
      'registry.foreign',
      `${this.#fault}; clients and webhooks stay as they are and no change is accepted`,
      { applied, end },
    );
    return this.#fault;
  }
}

const overdue = (): Error => new Error('no result within the deadline');

async function unlessAway<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (cause) {
    throw new RegistryUnavailable(`The registry cannot be read: ${reasonOf(cause)}`, false, cause);
  }
}
