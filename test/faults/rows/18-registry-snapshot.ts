import { statSync, truncateSync } from 'node:fs';
import { until } from '../../support/until.js';
import type { Fault } from '../engine/fault.js';
import type { Trial } from '../engine/trial.js';

const SNAPSHOT = '{relay:0}:registry:snapshot';
const WEBHOOKS = '{relay:0}:webhooks';

/** Changes of one webhook, so that a snapshot is due. */
async function changeUntil(trial: Trial, isDone: () => Promise<boolean>): Promise<void> {
  const [webhook] = (await trial.partner.request('GET', '/webhooks')).json;
  await until('a snapshot is made', async () => {
    await trial.partner.request('PATCH', `/webhooks/${String(webhook?.['id'])}`, {
      endPointName: String(performance.now()),
    });
    return isDone();
  });
}

export const faults: readonly Fault[] = [
  {
    row: 18,
    name: 'registry-snapshot-killed',
    does: 'kill -9 of the worker that makes a snapshot of the registry; then, once another was made and older records are gone, kill -9 of Redis and all it wrote since before both cut off its append-only file',
    duplicates: 'running',
    recoversWithinMs: 35_000,
    settings: { REGISTRY_SNAPSHOT_AFTER: '10', WEBHOOK_CHANGES: '100000' },
    run: async (trial) => {
      const { redis } = trial.stack;
      const file = await trial.servers.appendOnlyFile(redis);
      const kept = statSync(file).size;
      const since = performance.now();
      const before = (await redis.hkeys(WEBHOOKS)).toSorted();
      await changeUntil(trial, async () => (await redis.exists(SNAPSHOT)) === 1);
      await trial.kill(trial.worker);
      const last = await redis.hget(`${SNAPSHOT}:last`, 'id');
      await changeUntil(trial, async () => (await redis.hget(`${SNAPSHOT}:last`, 'id')) !== last);
      await trial.anyMoment(2_000, 4_000);
      trial.servers.kill('redis');
      truncateSync(file, kept);
      await trial.servers.bringUp();
      await trial.returned();
      trial.wentBack(since);
      await trial.load.more(200);
      const after = (await redis.hkeys(WEBHOOKS)).toSorted();
      if (after.join() !== before.join()) throw new Error(`${before.length} webhooks were there, now ${after.length}`);
    },
  },
];
