import type { Fault } from '../engine/fault.js';
import type { Trial } from '../engine/trial.js';

const KILLS = 4;

/** Kills it at a step, again and again, while the source goes on. */
const killsAt =
  (point: string) =>
  async (trial: Trial): Promise<void> => {
    for (let kill = 0; kill < KILLS; kill += 1) {
      await trial.killAt(trial.ingress, { point });
      await trial.load.more(150);
    }
  };

const atStep = (name: string, point: string, when: string): Fault => ({
  row: 1,
  name: `ingress-killed-${name}`,
  does: `kill -9 of the ingress ${when}, ${KILLS} times; started again at once`,
  duplicates: 'none',
  recoversWithinMs: 10_000,
  run: killsAt(point),
});

export const faults: readonly Fault[] = [
  atStep('before-produce', 'before-produce', 'right before it sends records to Kafka'),
  atStep('before-answer', 'after-produce', 'after Kafka has acknowledged and before the 202'),
  atStep('before-mark', 'before-mark', 'after the 202 and before the id is marked as published'),
  {
    row: 1,
    name: 'ingress-killed-at-random',
    does: 'kill -9 of the ingress at six random moments; started again at once',
    duplicates: 'none',
    run: async (trial) => {
      for (let kill = 0; kill < 6; kill += 1) {
        await trial.anyMoment();
        await trial.kill(trial.ingress);
      }
    },
  },
];
