import { type LoggedCommand, RegistryLog, RegistryView } from '@relay/registry';
import type { Log } from '@relay/telemetry';
import type { Redis } from 'ioredis';

/** The registry's log in memory, with faults that a spec sets. */
export class MemoryRegistryLog extends RegistryLog {
  readonly commands: Buffer[] = [];

  constructor(
    readonly name = 'registry',
    readonly group = 'workers',
  ) {
    super();
  }

  /** Cluster id that its brokers report. */
  clusterId: string | null = 'memory';

  /** While set, every call is refused with it. */
  failure: Error | undefined;
  /** While set, every command is stored twice, as after a lost answer of the broker. */
  storesTwice = false;
  /** While set, `append` stores the command and returns no offset. */
  hidesOffsets = false;
  /** While set, deletion is not permitted. */
  keepsAll = false;
  start = 0;

  async append(_id: string, value: Buffer): Promise<number | undefined> {
    if (this.failure !== undefined) throw this.failure;
    this.commands.push(value);
    const offset = this.commands.length - 1;
    if (this.storesTwice) this.commands.push(value);
    return this.hidesOffsets ? undefined : offset;
  }

  async cluster(): Promise<string | null> {
    if (this.failure !== undefined) throw this.failure;
    return this.clusterId;
  }

  async bounds(): Promise<{ start: number; end: number }> {
    if (this.failure !== undefined) throw this.failure;
    return { start: this.start, end: this.commands.length };
  }

  async read(from: number, end: number, take: (commands: readonly LoggedCommand[]) => Promise<void>): Promise<void> {
    for (let at = Math.max(from, this.start); at < end; at += 7) {
      if (this.failure !== undefined) throw this.failure;
      const slice = this.commands.slice(at, Math.min(at + 7, end));
      await take(slice.map((value, index) => ({ offset: at + index, value })));
    }
  }

  async deleteBefore(offset: number): Promise<'deleted' | 'not-permitted'> {
    if (this.failure !== undefined) throw this.failure;
    if (this.keepsAll) return 'not-permitted';
    if (offset > this.commands.length) throw new Error(`There is no command before ${offset}`);
    this.start = Math.max(this.start, offset);
    return 'deleted';
  }
}

const silentLog: Log = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };

/** The registry of a Redis over a log in memory; several connections to one Redis share a log. */
export function memoryRegistry(redis: Redis, log: MemoryRegistryLog = new MemoryRegistryLog()): RegistryView {
  redis.setMaxListeners(0); // a spec makes one for each of its cases
  return new RegistryView(redis, log, silentLog);
}
