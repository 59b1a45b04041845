import { setTimeout as delay } from 'node:timers/promises';
import { anEnvelope } from '../../support/client.js';
import { tally } from '../../support/tally.js';
import { until } from '../../support/until.js';
import type { Fault } from '../engine/fault.js';
import type { Trial } from '../engine/trial.js';

/** None of the load's: what is sent to it before its topic is deleted has been delivered by then. */
const [TYPE, PATH] = ['tax_return.filed', '/made-again'];
const DELIVERED_WITHIN_MS = 60_000;

const sent = new WeakMap<Trial, ReadonlySet<string>>();

/** Posts so many until they are accepted. */
async function post(trial: Trial, count: number): Promise<Set<string>> {
  const source = await trial.client('source', 'made-again');
  const ids = new Set<string>();
  while (ids.size < count) {
    const envelope = anEnvelope({ id: trial.random.uuid(), type: TYPE });
    const answer = await source.post(envelope).catch(() => undefined);
    if (answer?.status === 202) ids.add(envelope.id);
    else await delay(200);
  }
  return ids;
}

const missing = (trial: Trial, ids: ReadonlySet<string>): number => tally(ids, trial.receiver.delivered(PATH)).lost;

export const faults: readonly Fault[] = [
  {
    row: 4,
    name: 'topic-made-again',
    does: 'a topic whose records were read is deleted and made again under its name, in half of the runs while the worker is stopped (SIGSTOP) and keeps its session; as many records and some more are sent to the new one',
    duplicates: 'running',
    run: async (trial) => {
      const { stack, random, worker } = trial;
      await trial.partner.register({ eventType: TYPE, endPointUrl: trial.receiver.url(PATH), apiKey: 'k' });
      const before = await post(trial, random.int(1, 8));
      await until('they are delivered', () => missing(trial, before) === 0);
      await until('they are settled', async () => (await stack.lag(TYPE)) === 0);
      const isStopped = random.int(0, 1) === 1;
      if (isStopped) {
        process.kill(worker.pid, 'SIGSTOP');
        trial.interrupted();
        await delay(1_000); // its fetch ends
      }
      await stack.dropTopics(stack.topic(TYPE).name);
      if (!isStopped) await delay(random.int(0, 4_000));
      await stack.relay('topics', 'create');
      sent.set(trial, await post(trial, before.size + random.int(1, 8)));
      if (isStopped) process.kill(worker.pid, 'SIGCONT');
      trial.interrupted();
      await trial.returned();
    },
    check: async (trial) => {
      const ids = sent.get(trial) ?? new Set<string>();
      await until('all are delivered', () => missing(trial, ids) === 0, { withinMs: DELIVERED_WITHIN_MS }).catch(
        () => undefined,
      );
      const lost = missing(trial, ids);
      return lost === 0 ? [] : [`${lost} of ${ids.size} envelopes sent to the topic made again were not delivered`];
    },
  },
];
