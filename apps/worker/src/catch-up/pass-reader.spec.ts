import { randomUUID } from 'node:crypto';
import { shardsOn } from '@relay/redis';
import type { Webhook } from '@relay/webhooks';
import type { Redis } from 'ioredis';
import type { CatchUpPartition, RangeCatchUp } from '../log/catch-up-partition.js';
import { CatchUpPass, type PassKind } from './catch-up-pass.js';
import { CatchUpRecords } from './pass-reader.js';

const shards = shardsOn({} as Redis, 3);
const range: RangeCatchUp = { from: 0, to: 1_000, begin: () => () => undefined, passed: () => undefined };
const ids = Array.from({ length: 60 }, () => randomUUID());
const records = ids.map((id, offset) => ({
  offset,
  key: null,
  value: Buffer.from(JSON.stringify({ id, type: 'plan.created', payload: { n: 1 } })),
  headers: {},
  timestamp: 1_795_350_961_144,
}));

/** The ids of the envelopes that a pass finds deliveries of. */
async function found(kind: PassKind, shard?: number): Promise<string[]> {
  const key = kind === 'parked' ? 'w' : 'w/1000';
  const webhook = { id: 'w', eventType: 'plan.created', partnerId: 'p' } as Webhook;
  const at = { topic: 'plan.created', partition: 0, ...(shard === undefined ? {} : { shard, shards: 3 }) };
  const partition = { at, hashOf: () => undefined } as unknown as CatchUpPartition;
  const finder = new CatchUpRecords(
    { find: () => webhook },
    { find: async (asked) => asked.map(() => undefined) },
    { of: async (wanted) => wanted.map((each) => ({ ...each, letters: [] })) },
    { existing: async () => new Set() },
    { KAFKA_TOPIC_PREFIX: '' },
  );
  const pass = new CatchUpPass(partition, kind, new Map([[key, range]]), true, () => false);
  const { deliveries } = await finder.deliveriesOf(pass, records);
  return deliveries.map(({ record }) => record.envelope.id);
}

describe.each(['parked', 'replays'] as const)('the deliveries of a pass for %s', (kind) => {
  it('are those of all envelopes of a partition', async () => {
    expect(await found(kind)).toEqual(ids);
  });

  it('are in each shard of a partition those of its envelopes: none is in two, and none in no shard', async () => {
    const parts = await Promise.all([0, 1, 2].map((shard) => found(kind, shard)));
    for (const [number, part] of parts.entries())
      expect(part).toEqual(ids.filter((id) => shards.of(id) === shards.all[number]));
    expect(parts.flat().toSorted()).toEqual(ids.toSorted());
    expect(Math.min(...parts.map((part) => part.length))).toBeGreaterThan(0);
  });
});
