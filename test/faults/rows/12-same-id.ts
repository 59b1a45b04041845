import { anEnvelope } from '../../support/client.js';
import type { Fault } from '../engine/fault.js';
import { envelopeIdOf } from '../engine/endpoints.js';
import { until } from '../../support/until.js';

const POSTS = 1_000;
const IDS = 3;

export const faults: readonly Fault[] = [
  {
    row: 12,
    name: 'same-id',
    does: `the same envelope is posted ${POSTS} times at once beside the load, with ${IDS} ids one after the other`,
    duplicates: 'none',
    run: async (trial) => {
      const source = await trial.client('source', 'repeating');
      const [steady] = trial.endpoints;
      for (let n = 0; n < IDS; n += 1) {
        const envelope = anEnvelope({ id: trial.random.uuid() });
        const answers = await Promise.all(Array.from({ length: POSTS }, () => source.post(envelope)));
        const others = answers.filter(({ status }) => status !== 202);
        if (others.length > 0) throw new Error(`${others.length} posts were answered ${others[0]?.status}`);
        // An ingress that finds Redis slow answers accepted twice; the worker delivers once all the same.
        trial.load.accepted.set(envelope.id, { type: envelope.type, at: performance.now() });
        await until('it is delivered', () =>
          steady?.received().some((request) => envelopeIdOf(request) === envelope.id),
        );
      }
    },
  },
];
