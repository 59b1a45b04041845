import type { Fault } from '../engine/fault.js';
import type { Trial } from '../engine/trial.js';

const KILLS = 2;

const killsAt =
  (point: string, calls?: number) =>
  async (trial: Trial): Promise<void> => {
    for (let kill = 0; kill < KILLS; kill += 1) {
      await trial.killAt(trial.worker, { point, ...(calls !== undefined && { calls }) });
      await trial.load.more(100);
    }
  };

const atStep = (name: string, point: string, when: string, calls?: number): Fault => ({
  row: 2,
  name: `worker-killed-${name}`,
  does: `kill -9 of the worker ${when}, ${KILLS} times; started again at once`,
  duplicates: 'running',
  recoversWithinMs: 35_000,
  run: killsAt(point, calls),
});

export const faults: readonly Fault[] = [
  atStep('before-look-up', 'before-look-up', 'before it looks up the ids of a chunk of the log'),
  atStep('after-look-up', 'after-look-up', 'after it has looked up the ids of a chunk and before any attempt'),
  atStep('before-post', 'before-first-post', 'before the request of a first attempt'),
  atStep('before-flush', 'after-first-2xx', 'after an endpoint answered 2xx and before the flush that marks it'),
  atStep('before-commit', 'before-commit', 'after a flush and before the offset is committed to Kafka', 1),
  atStep('before-add', 'before-addBulk', 'before a failed delivery becomes a job'),
  atStep('after-add', 'after-addBulk', 'after a failed delivery became a job and before its record is settled'),
  {
    row: 2,
    name: 'worker-killed-at-random',
    does: 'kill -9 of the worker at three random moments; started again at once',
    duplicates: 'running',
    recoversWithinMs: 35_000,
    run: async (trial) => {
      for (let kill = 0; kill < 3; kill += 1) {
        await trial.anyMoment();
        await trial.kill(trial.worker);
      }
    },
  },
];
