import { setTimeout as delay } from 'node:timers/promises';
import type { Fault } from '../engine/fault.js';
import type { Trial } from '../engine/trial.js';

const used = async ({ stack }: Trial): Promise<number> =>
  Number(/^used_memory:(\d+)/m.exec(await stack.redis.info('memory'))?.[1]);

export const faults: readonly Fault[] = [
  {
    row: 7,
    name: 'redis-full',
    does: 'maxmemory of Redis is set to what it uses by then for 20 s, so that it refuses writes, and given free again',
    duplicates: 'running',
    spoils: true,
    run: async (trial) => {
      await trial.anyMoment();
      trial.interrupted();
      const before = trial.load.accepted.size;
      await trial.stack.redis.config('SET', 'maxmemory', String(await used(trial)));
      await delay(20_000);
      if (trial.load.accepted.size < before + 500) throw new Error('the ingress did not go on while Redis was full');
      trial.interrupted();
      await trial.stack.redis.config('SET', 'maxmemory', '0');
      await trial.returned();
    },
  },
  {
    row: 7,
    name: 'redis-nearly-full',
    does: 'maxmemory of Redis is set so that it is 75 % full for 20 s, and given free again: the worker pauses reading by itself',
    duplicates: 'none',
    spoils: true,
    run: async (trial) => {
      await trial.anyMoment();
      const before = trial.load.accepted.size;
      await trial.stack.redis.config('SET', 'maxmemory', String(Math.ceil((await used(trial)) / 0.75)));
      await delay(20_000);
      if (trial.load.accepted.size < before + 500)
        throw new Error('the ingress did not go on while Redis was nearly full');
      await trial.stack.redis.config('SET', 'maxmemory', '0');
      await trial.returned();
    },
    check: ({ worker }) =>
      worker.log.some((line) => line.includes('"reading.paused"')) ? [] : ['the worker did not pause reading'],
  },
];
