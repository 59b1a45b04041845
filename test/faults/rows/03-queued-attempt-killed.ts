import { attemptOf, envelopeIdOf } from '../engine/endpoints.js';
import type { Fault } from '../engine/fault.js';
import type { Trial } from '../engine/trial.js';

const atStep = (name: string, point: string, when: string): Fault => ({
  row: 3,
  name: `retry-killed-${name}`,
  does: `kill -9 of the worker ${when}, twice; started again at once`,
  duplicates: 'running',
  recoversWithinMs: 35_000,
  run: async (trial) => {
    for (let kill = 0; kill < 2; kill += 1) {
      await trial.killAt(trial.worker, { point });
      await trial.load.more(100);
    }
  },
});

/** The job whose step kills each worker that takes it, and how often it was taken, by run. */
const victims = new WeakMap<Trial, { id: string; taken: number }>();

export const faults: readonly Fault[] = [
  atStep('before-post', 'before-queued-post', 'before the request of a queued attempt'),
  atStep('after-2xx', 'after-queued-2xx', 'after an endpoint answered a queued attempt 2xx and before the job ends'),
  atStep('before-delay', 'before-moveToDelayed', 'after a queued attempt failed and before the job is put back'),
  atStep('before-finish', 'before-moveToFinished', 'before a job that is delivered or dead leaves the queue'),
  {
    row: 3,
    name: 'retry-killed-three-times',
    does: 'kill -9 of the worker before the request of one and the same queued attempt, three times',
    duplicates: 'running',
    recoversWithinMs: 35_000,
    run: async (trial) => {
      const point = 'before-queued-post';
      const victim = await trial.killAt(trial.worker, { point });
      const fate = { id: victim, taken: 1 };
      victims.set(trial, fate);
      while (fate.taken < 3) {
        // A job that no worker takes any more is lost: the count tells. Its endpoint may ask for rest again and again.
        const again = trial.killAt(trial.worker, { point, calls: 1, only: victim, withinMs: 180_000 });
        if (!(await again.then(Boolean, () => false))) return;
        fate.taken += 1;
      }
    },
    check: (trial) => {
      const { id, taken } = victims.get(trial) ?? { id: '', taken: 0 };
      if (taken < 3) return [`the job was taken by ${taken} workers and then never again`];
      const attempts = trial.endpoints
        .flatMap(({ received }) => received().filter((request) => envelopeIdOf(request) === id))
        .map(attemptOf);
      // The same number twice is a request sent again, because its endpoint closed the connection or its worker died.
      const used = attempts.some((attempt, index) => attempt > (attempts[index - 1] ?? 0) + 1);
      return used ? [`the attempts of the job were numbered ${attempts.join(', ')}: a kill used some up`] : [];
    },
  },
];
