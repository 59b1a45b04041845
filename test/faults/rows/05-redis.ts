import { setTimeout as delay } from 'node:timers/promises';
import type { Fault } from '../engine/fault.js';

export const faults: readonly Fault[] = [
  {
    row: 5,
    name: 'redis-frozen',
    does: 'Redis is stopped for 10 s (SIGSTOP) and goes on',
    duplicates: 'none',
    run: async (trial) => {
      await trial.anyMoment();
      trial.servers.freeze('redis');
      await delay(10_000);
      trial.servers.thaw('redis');
      await trial.returned();
    },
  },
  {
    row: 5,
    name: 'redis-killed',
    does: 'kill -9 of Redis, twice; started again at once with its append-only file',
    duplicates: 'none',
    run: async (trial) => {
      for (let kill = 0; kill < 2; kill += 1) {
        await trial.anyMoment();
        trial.servers.kill('redis');
        await trial.servers.bringUp();
        await trial.returned();
        await trial.load.more(200);
      }
    },
  },
  {
    row: 5,
    name: 'redis-restarted',
    does: 'Redis is told to end and started again after 5 s',
    duplicates: 'none',
    run: async (trial) => {
      await trial.anyMoment();
      await trial.servers.stop('redis');
      await delay(5_000);
      await trial.servers.bringUp();
      await trial.returned();
    },
  },
];
