import { statSync, truncateSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Fault } from '../engine/fault.js';
import type { Trial } from '../engine/trial.js';

const SNAPSHOT = '{relay:0}:registry:snapshot';
const WEBHOOKS = '{relay:0}:webhooks';
/** A worker makes a snapshot a minute at most; the one that was started again begins with a pause. */
const SNAPSHOT_WITHIN_MS = 90_000;
/** Often enough that a snapshot is due, rarely enough that the append-only file stays small. */
const CHANGE_EVERY_MS = 20;

/** Changes a webhook, so that a snapshot is due, and looks beside that without a pause: a snapshot takes some milliseconds. */
async function changeUntil(trial: Trial, isDone: () => Promise<boolean>): Promise<void> {
  const [webhook] = (await trial.partner.request('GET', '/webhooks')).json;
  const over = new AbortController();
  const change = async (): Promise<void> => {
    for (; !over.signal.aborted; await delay(CHANGE_EVERY_MS))
      await trial.partner.request('PATCH', `/webhooks/${String(webhook?.['id'])}`, {
        endPointName: String(performance.now()),
      });
  };
  const changed = change();
  try {
    const deadline = performance.now() + SNAPSHOT_WITHIN_MS;
    while (!(await isDone()))
      if (performance.now() > deadline) throw new Error(`no snapshot was made in ${SNAPSHOT_WITHIN_MS} ms`);
  } finally {
    over.abort();
    await changed;
  }
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
      // Redis must not begin another file: what it wrote since now is cut off the end of this one.
      await redis.config('SET', 'auto-aof-rewrite-percentage', '0');
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
