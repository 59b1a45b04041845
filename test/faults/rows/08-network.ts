import { setTimeout as delay } from 'node:timers/promises';
import { Toxiproxy } from '../engine/toxiproxy.js';
import type { Fault } from '../engine/fault.js';
import type { Trial } from '../engine/trial.js';

/** Longer than the lock of a queued attempt (20 s) and a session of the group (10 s). */
const CUT_MS = 45_000;

const proxies = new WeakMap<Trial, Toxiproxy>();

function proxyOf(trial: Trial): Toxiproxy {
  const proxy = proxies.get(trial);
  if (proxy === undefined) throw new Error('there is no proxy');
  return proxy;
}

/** The worker reaches Redis only through toxiproxy. */
async function prepare(trial: Trial): Promise<void> {
  const port = trial.servers.port('redis');
  const proxy = await Toxiproxy.before(port);
  trial.atEnd(() => proxy.end());
  trial.redirect('worker', port, proxy.port);
  proxies.set(trial, proxy);
}

export const faults: readonly Fault[] = [
  {
    row: 8,
    name: 'worker-redis-cut',
    does: 'the worker cannot reach Redis for 45 s: its connections end and new ones are refused',
    duplicates: 'running',
    prepare,
    run: async (trial) => {
      await trial.anyMoment();
      trial.interrupted();
      await proxyOf(trial).enable(false);
      await delay(CUT_MS);
      trial.interrupted();
      await proxyOf(trial).enable(true);
      await trial.returned();
    },
  },
  {
    row: 8,
    name: 'worker-redis-half-open',
    does: 'nothing passes between the worker and Redis for 45 s while every connection stays open, then they end',
    duplicates: 'running',
    prepare,
    run: async (trial) => {
      await trial.anyMoment();
      trial.interrupted();
      // Toxiproxy's timeout of 0 drops everything and ends the connections only when it is taken away.
      await proxyOf(trial).add('down', 'timeout', 'downstream', { timeout: 0 });
      await proxyOf(trial).add('up', 'timeout', 'upstream', { timeout: 0 });
      await delay(CUT_MS);
      trial.interrupted();
      await proxyOf(trial).remove('up');
      await proxyOf(trial).remove('down');
      await trial.returned();
    },
  },
  {
    row: 8,
    name: 'worker-redis-slow',
    does: 'everything between the worker and Redis takes 200 ± 100 ms longer for 20 s',
    duplicates: 'none',
    prepare,
    run: async (trial) => {
      await trial.anyMoment();
      await proxyOf(trial).add('slow', 'latency', 'downstream', { latency: 200, jitter: 100 });
      await delay(20_000);
      await proxyOf(trial).remove('slow');
      await trial.returned();
    },
  },
];
