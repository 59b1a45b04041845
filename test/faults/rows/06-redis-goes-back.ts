import { statSync, truncateSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../support/until.js';
import type { Fault } from '../engine/fault.js';
import { Replica } from '../engine/replica.js';

/** How far the tail that is cut may reach back. */
const REACH_MS = 2_000;
const SAMPLE_MS = 10;
/** Further back than the offsets that the group commits, which are at most 5 s old. */
const OLD_MS = 7_000;
/** Attempts are told on their topic in batches beside the path. */
const TOLD_WITHIN_MS = 1_000;

export const faults: readonly Fault[] = [
  {
    row: 6,
    name: 'redis-tail-cut',
    does: `kill -9 of Redis under load, a random part of what it wrote in the last ${REACH_MS / 1_000} s cut off its append-only file, started again; twice`,
    duplicates: 'running',
    // Where the high water stands still, only the sequence of writes tells that jobs added since are gone.
    longShare: 0.02,
    run: async (trial) => {
      for (let cut = 0; cut < 2; cut += 1) {
        await trial.anyMoment(0, 1_000);
        const file = await trial.servers.appendOnlyFile(trial.stack.redis);
        const sizes: { at: number; size: number }[] = [];
        const end = performance.now() + REACH_MS;
        while (performance.now() < end) {
          sizes.push({ at: performance.now(), size: statSync(file).size });
          await delay(SAMPLE_MS);
        }
        trial.servers.kill('redis');
        const { size } = statSync(file);
        const kept = trial.random.int(sizes[0]?.size ?? size, size);
        truncateSync(file, kept);
        const since = sizes.findLast((sample) => sample.size <= kept)?.at ?? end;
        await trial.servers.bringUp();
        await trial.returned();
        // What was delivered while Redis was away could not be marked either.
        trial.wentBack(since);
        await trial.load.more(200);
      }
    },
  },
  {
    row: 6,
    name: 'redis-older-than-commits',
    does: `kill -9 of Redis under load, all that it wrote in the last ${OLD_MS / 1_000} s cut off its append-only file, started again`,
    duplicates: 'running',
    run: async (trial) => {
      await trial.anyMoment();
      const file = await trial.servers.appendOnlyFile(trial.stack.redis);
      const [{ size }, since] = [statSync(file), performance.now()];
      await delay(OLD_MS);
      trial.servers.kill('redis');
      truncateSync(file, size);
      await trial.servers.bringUp();
      await trial.returned();
      trial.wentBack(since);
    },
  },
  {
    row: 6,
    name: 'redis-replica-promoted',
    does: 'a replica that is up to 500 ms behind becomes the Redis (kill -9 of the old one, the same port)',
    duplicates: 'running',
    spoils: true,
    run: async (trial) => {
      const replica = await Replica.start(trial.servers);
      trial.atEnd(() => replica.end());
      await trial.anyMoment();
      await replica.detach();
      const since = performance.now();
      await delay(trial.random.int(50, 500));
      trial.servers.kill('redis');
      await replica.takeOver();
      await trial.returned();
      trial.wentBack(since);
    },
  },
  {
    row: 6,
    name: 'redis-emptied',
    does: 'FLUSHALL under load, and `relay recover` when the worker asks for it, all processes running',
    duplicates: 'running',
    recoversWithinMs: 60_000,
    spoils: true,
    run: async (trial) => {
      // By the group's commits the worker knows that the log was read before.
      await delay(8_000);
      await trial.anyMoment();
      // What the attempts' topic has not been told yet is delivered again: the records of the last moments.
      const since = performance.now() - TOLD_WITHIN_MS;
      await trial.stack.redis.flushall();
      const told = async (): Promise<boolean> =>
        /relay recover/.test((await trial.worker.health())?.faults['log'] ?? '');
      await until('the worker says what to do', told, { withinMs: 30_000 });
      await trial.stack.relay('recover');
      await trial.returned();
      await trial.worker.ready(60_000);
      trial.wentBack(since);
    },
  },
];
