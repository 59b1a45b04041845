import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { runScript, type LogView } from '@relay/redis';
import { reasonOf, type Log } from '@relay/telemetry';
import type { Redis } from 'ioredis';
import { RegistryUnavailable } from './registry-unavailable.js';
import type { LoggedCommand, RegistryLog } from './registry-log.port.js';
import { APPLIED, APPLY, registryKeys, type Entity } from './registry.script.js';

/** From the call to the answer, at most; the log's own deadline is shorter. */
const DEADLINE_MS = 9_000;
/** How long the commands of other senders are waited for before they are read from the log, and how often Redis is asked. */
const PATIENCE_MS = 300;
const STEP_MS = 20;
/** Commands applied in one call: Redis does nothing else meanwhile. */
const SLICE = 100;

/** What the script answers. */
interface Applied {
  readonly applied: number;
  readonly result: string | undefined;
  readonly isNewer: boolean;
}

/**
 * Redis as a view of the registry. A change is appended to the log and then applied in the log's order by whoever comes
 * first; the script ignores what is applied. Whenever Redis may have gone back in time, which takes a new connection, what
 * it lacks is applied from the log before anything is read.
 */
export class RegistryView {
  #generation = 0;
  #isCurrent = false;
  #catchingUp: Promise<void> | undefined;
  #settling: Promise<void> | undefined;
  #fault: string | undefined;

  constructor(
    private readonly redis: Redis,
    private readonly registryLog: RegistryLog,
    private readonly log: Log,
  ) {
    const doubt = (): void => {
      this.#generation += 1;
      this.#isCurrent = false;
    };
    redis.on('close', doubt);
    redis.on('ready', doubt);
  }

  /** What only an operator can mend; changes are refused while it lasts. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** The view and the commands of one domain. */
  of<Command extends object>(entity: Entity): LogView<Command> {
    return {
      current: () => this.current(),
      catchUp: () => this.catchUp(),
      settled: () => this.settled(),
      change: (command) => this.change(entity, command),
    };
  }

  /**
   * Resolves at once unless the connection to Redis is new; then once Redis has caught up.
   * @throws RegistryUnavailable while it cannot
   */
  async current(): Promise<void> {
    while (!this.#isCurrent) await this.catchUp();
  }

  /**
   * Applies all that the log holds by now and Redis lacks. Callers share one at a time.
   * @throws RegistryUnavailable when the log or Redis cannot be read
   */
  catchUp(): Promise<void> {
    this.#catchingUp ??= unlessAway(this.#catchUp()).finally(() => (this.#catchingUp = undefined));
    return this.#catchingUp;
  }

  /**
   * Resolves once Redis shows all that the log holds by now: for what is answered without a command. Callers share one at a
   * time.
   * @throws RegistryUnavailable as `catchUp`
   */
  settled(): Promise<void> {
    this.#settling ??= this.#settle().finally(() => (this.#settling = undefined));
    return this.#settling;
  }

  /**
   * Appends a command and applies it.
   * @returns what applying it showed
   * @throws RegistryUnavailable within 10 s
   */
  async change(entity: Entity, command: object): Promise<unknown> {
    const deadline = Date.now() + DEADLINE_MS;
    if (this.redis.status !== 'ready') throw new RegistryUnavailable('Redis is away', false);
    if (this.#fault !== undefined) await this.catchUp();
    if (this.#fault !== undefined) throw new RegistryUnavailable(this.#fault, false);
    const id = randomUUID();
    const value = Buffer.from(JSON.stringify({ v: 1, id, entity, at: Date.now(), command }));
    try {
      const offset = await this.registryLog.append(id, value);
      return JSON.parse(await before(deadline, this.#answer(id, value, offset, deadline)));
    } catch (cause) {
      throw new RegistryUnavailable(`A change of a ${entity} was not confirmed: ${reasonOf(cause)}`, true, cause);
    }
  }

  async #answer(id: string, value: Buffer, offset: number | undefined, deadline: number): Promise<string> {
    const patience = Date.now() + PATIENCE_MS;
    while (Date.now() < deadline) {
      const { applied, result } = await this.#apply(offset ?? 0, offset === undefined ? [] : [{ offset, value }], id);
      if (result !== undefined) return result;
      if (offset !== undefined && applied >= offset) throw new Error(this.#behind(applied, offset));
      // Commands before ours are on their way, or their sender has died.
      if (offset !== undefined && Date.now() < patience) await delay(STEP_MS);
      else await this.catchUp();
      if (this.#fault !== undefined) throw new Error(this.#fault);
    }
    throw new Error('no result within the deadline');
  }

  async #settle(): Promise<void> {
    const { end } = await unlessAway(this.registryLog.bounds());
    // Commands whose senders are about to apply them need not be read from the log.
    for (const patience = Date.now() + PATIENCE_MS; Date.now() < patience; await delay(STEP_MS))
      if (Number((await unlessAway(this.redis.get(APPLIED))) ?? -1) + 1 >= end) return;
    await this.catchUp();
  }

  async #catchUp(): Promise<void> {
    const generation = this.#generation;
    const from = Number((await this.redis.get(APPLIED)) ?? -1) + 1;
    const { start, end } = await this.registryLog.bounds();
    this.#fault = undefined;
    if (from > end) this.#behind(from - 1, end);
    else if (from < start)
      throw new Error(`its commands before offset ${start} are gone, and Redis has ${from} of them`);
    else if (from < end) await this.#applyFrom(from, end);
    if (generation === this.#generation) this.#isCurrent = true;
  }

  async #applyFrom(from: number, end: number): Promise<void> {
    let next = from;
    await this.registryLog.read(from, end, async (commands) => {
      for (let at = 0; at < commands.length; at += SLICE) {
        const slice = commands.slice(at, at + SLICE);
        const { applied, isNewer } = await this.#apply(next, slice);
        if (isNewer) throw new Error(`the command at ${applied + 1} was written by a newer relay: update this one`);
        const last = slice.at(-1)?.offset ?? next;
        if (applied < last) throw new Error('Redis went back in time meanwhile');
        next = last + 1;
      }
    });
    this.log.info(
      'registry.caught_up',
      'Redis lacked changes of clients and webhooks; they were applied from the log',
      {
        from,
        end,
      },
    );
  }

  /** The commands of Redis are not those of the log. */
  #behind(applied: number, end: number): string {
    this.#fault = `Redis has applied changes up to offset ${applied} of the registry, which ends at ${end}: its topic was made anew, or belongs to another Redis`;
    this.log.error(
      'registry.foreign',
      `${this.#fault}; clients and webhooks are kept as they are and no change is taken`,
      {
        applied,
        end,
      },
    );
    return this.#fault;
  }

  /** @param first the offset from which on these are all the commands there are */
  async #apply(first: number, commands: readonly LoggedCommand[], id = ''): Promise<Applied> {
    const args = commands.flatMap(({ offset, value }) => [offset, value]);
    const reply = await runScript(this.redis, APPLY, registryKeys, [id, first, ...args]);
    const [applied, result, newer] = reply as [number, string, number];
    return { applied, result: result === '' ? undefined : result, isNewer: newer === 1 };
  }
}

async function unlessAway<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (cause) {
    throw new RegistryUnavailable(`The registry cannot be read: ${reasonOf(cause)}`, false, cause);
  }
}

async function before<T>(deadline: number, work: Promise<T>): Promise<T> {
  const done = new AbortController();
  const late = delay(Math.max(0, deadline - Date.now()), undefined, { signal: done.signal, ref: false }).then(() => {
    throw new Error('no result within the deadline');
  });
  late.catch(() => undefined);
  return Promise.race([work, late]).finally(() => done.abort());
}
