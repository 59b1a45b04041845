import { randomBytes } from 'node:crypto';
import type { Fault } from '../engine/fault.js';

export const faults: readonly Fault[] = [
  {
    row: 17,
    name: 'key-rotated',
    does: 'a new first key in ENCRYPTION_KEYS with the old one behind it, ingress and worker restarted with both while retries wait',
    duplicates: 'none',
    run: async (trial) => {
      await trial.anyMoment();
      const keys = `fresh:${randomBytes(32).toString('base64')},${trial.stack.env['ENCRYPTION_KEYS']}`;
      for (const app of [trial.worker, trial.ingress]) {
        trial.env[app.role]['ENCRYPTION_KEYS'] = keys;
        const { code } = await trial.restart(app);
        if (code !== 0) throw new Error(`the ${app.role} ended with ${code}`);
      }
      trial.returnedAt = performance.now();
      await trial.accepts();
      await trial.returned();
    },
  },
];
