import { createBullBoard } from '@bull-board/api';
import { FastifyAdapter } from '@bull-board/fastify';
import { bullOptions, DEAD_LETTERS_QUEUE, DELIVERIES_QUEUE } from '@relay/jobs';
import { onlyShard } from '@relay/redis';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { DueTimeQueue } from './due-time-queue.adapter.js';
import { shownData } from './shown-data.js';

export const BOARD_PATH = '/board';

/** Bull Board over both queues, as a Fastify plugin to be registered under `BOARD_PATH`. */
export class Board {
  readonly #queues: readonly Queue[];
  readonly #server = new FastifyAdapter().setBasePath(BOARD_PATH);

  constructor(redis: Redis, canWrite: boolean) {
    const shard = onlyShard(redis);
    this.#queues = [DELIVERIES_QUEUE, DEAD_LETTERS_QUEUE].map((name) => new Queue(name, bullOptions(shard)));
    for (const queue of this.#queues) queue.on('error', () => undefined);
    createBullBoard({
      // The API replays and purges dead letters; BullMQ’s own retry would have no effect on them.
      queues: this.#queues.map((queue) => {
        const readOnlyMode = !canWrite || queue.name === DEAD_LETTERS_QUEUE;
        const adapter = new DueTimeQueue(shard, queue, { readOnlyMode, allowRetries: false });
        adapter.setFormatter('data', shownData);
        return adapter;
      }),
      serverAdapter: this.#server,
      options: { uiConfig: { boardTitle: 'Partner Relay', hideRedisDetails: true, hideDocsLink: true } },
    });
    // The board’s error handler would answer with the stack. Rethrown, an error reaches the handler of the enclosing
    // plugin.
    this.#server.setErrorHandler((error) => {
      throw error;
    });
  }

  /** Rejects when BullMQ found no Redis; its queues would never answer again. */
  async ready(): Promise<void> {
    await Promise.all(this.#queues.map((queue) => queue.waitUntilReady()));
  }

  get plugin(): ReturnType<FastifyAdapter['registerPlugin']> {
    return this.#server.registerPlugin();
  }

  async close(): Promise<void> {
    await Promise.all(this.#queues.map((queue) => queue.close()));
  }
}
