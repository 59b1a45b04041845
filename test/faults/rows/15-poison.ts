import { anEnvelope } from '../../support/client.js';
import { until } from '../../support/until.js';
import type { Fault } from '../engine/fault.js';
import type { Trial } from '../engine/trial.js';

const TOPIC = 'task.created';
const TIMES = 20;

const POISON: readonly (() => Buffer | string | null)[] = [
  () => '{"id":',
  () => null,
  () => JSON.stringify(anEnvelope({ type: 'task.exploded' })),
  () => Buffer.from([0x00, 0xff, 0xfe]),
  () => '',
];

const written = new WeakMap<Trial, number>();

export const faults: readonly Fault[] = [
  {
    row: 15,
    name: 'poison',
    does: `broken JSON, tombstones, unknown types, bytes that are no text and empty values written to the topic past the ingress, ${TIMES} times each`,
    duplicates: 'none',
    run: async (trial) => {
      const topic = trial.stack.topic(TOPIC);
      for (let time = 0; time < TIMES; time += 1) {
        await topic.write(...POISON.map((make) => ({ value: make() })));
        await trial.load.more(20);
      }
      written.set(trial, TIMES * POISON.length);
    },
    check: async (trial) => {
      const dlq = trial.stack.topic(`${TOPIC}.dlq`);
      const expected = written.get(trial) ?? 0;
      await until('the poison is in the dead letter topic', async () => (await dlq.count()) >= expected).catch(
        () => false,
      );
      const found = await dlq.count();
      return found === expected ? [] : [`${found} of ${expected} records are in the dead letter topic`];
    },
  },
];
