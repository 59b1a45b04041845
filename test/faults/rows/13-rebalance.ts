import { setTimeout as delay } from 'node:timers/promises';
import type { Fault } from '../engine/fault.js';

const CHANGE_EVERY_MS = 2_000;
const CHANGES = 12;

export const faults: readonly Fault[] = [
  {
    row: 13,
    name: 'rebalance-storm',
    does: `three workers of which one leaves (SIGTERM) or joins every ${CHANGE_EVERY_MS / 1_000} s, ${CHANGES} times`,
    duplicates: 'running',
    workers: 3,
    recoversWithinMs: 15_000,
    run: async (trial) => {
      for (let change = 0; change < CHANGES; change += 1) {
        const worker = trial.workers[trial.random.int(1, 2)];
        if (worker === undefined) throw new Error('there are not three workers');
        trial.interrupted();
        if (worker.isRunning) void worker.stop().then(() => trial.interrupted(worker.endedAt));
        else worker.start();
        await delay(CHANGE_EVERY_MS);
      }
      for (const worker of trial.workers) {
        if (!worker.isRunning) worker.start();
        await worker.ready(60_000);
      }
      await trial.returned();
    },
  },
];
