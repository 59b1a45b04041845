import type { Shard } from '@relay/redis';
import type { ChainableCommander, Redis } from 'ioredis';
import { answersOf } from './scan.adapter.js';

/** Of one pipeline: what a server gets at once, and this process keeps. */
const MOST_COMMANDS = 500;
const MOST_BYTES = 1_048_576;

interface Open {
  readonly pipeline: ChainableCommander;
  commands: number;
  bytes: number;
}

/** Writes to shards, collected in a pipeline for each connection. */
export class Writes {
  readonly #open = new Map<Redis, Open>();

  /** Writes later. @param bytes about how many it carries */
  add({ redis }: Shard, bytes: number, command: (pipeline: ChainableCommander) => void): void {
    const open = this.#open.get(redis) ?? { pipeline: redis.pipeline(), commands: 0, bytes: 0 };
    this.#open.set(redis, open);
    command(open.pipeline);
    open.commands += 1;
    open.bytes += bytes;
  }

  /** Sends the pipelines that have become long. @throws when a write fails */
  async relieve(): Promise<void> {
    await this.#send(({ commands, bytes }) => commands >= MOST_COMMANDS || bytes >= MOST_BYTES);
  }

  /** Resolves when all is written. */
  async finish(): Promise<void> {
    await this.#send(() => true);
  }

  async #send(isDue: (open: Open) => boolean): Promise<void> {
    const due = [...this.#open].filter(([, open]) => isDue(open));
    for (const [redis] of due) this.#open.delete(redis);
    await Promise.all(due.map(([, { pipeline }]) => answersOf(pipeline)));
  }
}
