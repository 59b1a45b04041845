import { createBullBoard } from '@bull-board/api';
import { FastifyAdapter } from '@bull-board/fastify';
import { bullOptions, DEAD_LETTERS_QUEUE, DELIVERIES_QUEUE } from '@relay/jobs';
import type { Shards } from '@relay/redis';
import { Queue } from 'bullmq';
import { groupOf, GROUP_END } from './board-names.js';
import { DueTimeQueue } from './due-time-queue.adapter.js';
import { shownData } from './shown-data.js';

export const BOARD_PATH = '/board';

/** Bull Board over both queues of every shard, as a Fastify plugin to be registered under `BOARD_PATH`. */
export class Board {
  readonly #queues: readonly Queue[];
  readonly #server = new FastifyAdapter().setBasePath(BOARD_PATH);

  constructor({ all }: Shards, canWrite: boolean) {
    const shown = all.flatMap((shard, number) =>
      [DELIVERIES_QUEUE, DEAD_LETTERS_QUEUE].map((name) => {
        const queue = new Queue(name, bullOptions(shard));
        queue.on('error', () => undefined);
        // The API replays and purges dead letters; BullMQ’s own retry would have no effect on them.
        const readOnlyMode = !canWrite || name === DEAD_LETTERS_QUEUE;
        const group = { prefix: groupOf(number, all.length), delimiter: GROUP_END };
        const adapter = new DueTimeQueue(shard, queue, { readOnlyMode, allowRetries: false, ...group });
        adapter.setFormatter('data', shownData);
        return { queue, adapter };
      }),
    );
    this.#queues = shown.map(({ queue }) => queue);
    createBullBoard({
      queues: shown.map(({ adapter }) => adapter),
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
