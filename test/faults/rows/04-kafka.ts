import { setTimeout as delay } from 'node:timers/promises';
import type { Service } from '../../support/servers.js';
import { KafkaProxy } from '../../support/kafka-proxy.js';
import type { Fault } from '../engine/fault.js';
import type { Trial } from '../engine/trial.js';

/** What the ingress may take to say that Kafka is away. */
const REFUSES_WITHIN_MS = 10_000;

/** While Kafka was away, nothing was answered 202 and everything else within the time. */
function refused(trial: Trial): string[] {
  const slow = trial.load.answers.filter(({ status, tookMs }) => status === 503 && tookMs > REFUSES_WITHIN_MS);
  return slow.length === 0 ? [] : [`${slow.length} answers 503 took longer than ${REFUSES_WITHIN_MS} ms`];
}

const proxies = new WeakMap<Trial, KafkaProxy>();

export const faults: readonly Fault[] = [
  {
    row: 4,
    name: 'kafka-frozen',
    does: 'the only broker is stopped for 60 s (SIGSTOP) and goes on',
    duplicates: 'running',
    run: async (trial) => {
      await trial.anyMoment();
      trial.servers.freeze('kafka');
      trial.interrupted();
      await delay(60_000);
      trial.servers.thaw('kafka');
      trial.interrupted();
      await trial.returned();
    },
    check: refused,
  },
  {
    row: 4,
    name: 'kafka-killed',
    does: 'kill -9 of the only broker, twice; started again at once with its data',
    duplicates: 'running',
    run: async (trial) => {
      for (let kill = 0; kill < 2; kill += 1) {
        await trial.anyMoment();
        trial.servers.kill('kafka');
        trial.interrupted();
        await trial.servers.bringUp();
        await trial.returned();
        await trial.load.more(200);
      }
    },
    check: refused,
  },
  {
    row: 4,
    name: 'kafka-restarted',
    does: 'the only broker is told to end and started again after 5 s',
    duplicates: 'running',
    run: async (trial) => {
      await trial.anyMoment();
      trial.interrupted();
      await trial.servers.stop('kafka');
      await delay(5_000);
      await trial.servers.bringUp();
      await trial.returned();
    },
    check: refused,
  },
  {
    row: 4,
    name: 'kafka-leader-moves',
    does: 'three brokers, each record on all of them: kill -9 of one after the other, each started again after 8 s',
    duplicates: 'running',
    cluster: true,
    run: async (trial) => {
      for (const broker of ['kafka-1', 'kafka-2', 'kafka-3'] satisfies Service[]) {
        await trial.anyMoment();
        trial.servers.kill(broker);
        trial.interrupted();
        // Until its leaders have moved is no return yet: the cluster misses a broker after 9 s.
        await trial.load.more(20);
        await delay(8_000);
        await trial.servers.bringUp();
        await trial.returned();
        // Its copies must be complete again before the next one goes, or records are on one broker alone.
        await delay(8_000);
      }
    },
    check: refused,
  },
  {
    row: 4,
    name: 'kafka-answers-lost',
    does: 'the broker has stored the records, its answer to the ingress is lost and the connection ends, 12 times, in every other one that to the repeat as well',
    duplicates: 'none',
    prepare: async (trial) => {
      const port = trial.servers.port('kafka');
      const proxy = new KafkaProxy({ host: '127.0.0.1', port });
      await proxy.open();
      trial.redirect('ingress', port, proxy.port);
      trial.atEnd(() => proxy.close());
      proxies.set(trial, proxy);
    },
    run: async (trial) => {
      for (let time = 0; time < 12; time += 1) {
        proxies.get(trial)?.swallowNext(1 + (time % 2));
        await trial.load.more(trial.random.int(20, 120));
      }
    },
    check: (trial) => {
      const swallowed = proxies.get(trial)?.swallowed ?? 0;
      return swallowed < 18 ? [`only ${swallowed} answers were lost`] : [];
    },
  },
];
