import { randomBytes, randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { shardNumber, shardsOn, type Shards } from './shards.js';

const none = {} as Redis;
const shardsOf = (count: number): Shards => shardsOn(none, count);
const sequential = (index: number): string => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
/** As RFC 9562 has it: milliseconds, then chance. */
function byTime(index: number): string {
  const [time, rest] = [(1_764_000_000_000 + index).toString(16).padStart(12, '0'), randomBytes(9).toString('hex')];
  return `${time.slice(0, 8)}-${time.slice(8)}-7${rest.slice(0, 3)}-8${rest.slice(3, 6)}-${rest.slice(6)}`;
}
/** The bucket that a seen mark of 256 of them is in (`seen-mark.script.ts`). */
function bucketOf(id: string): number {
  const bytes = Buffer.from(id.replaceAll('-', ''), 'hex');
  const folded = [0, 4, 8, 12].reduce((sum, at) => sum ^ bytes.readUInt32BE(at), 0);
  return (folded ^ (folded >>> 16)) & 255;
}

describe('the shard of an envelope', () => {
  it.each([
    ['7d0f5a0e-9a3c-4c58-8f0f-0a4f5a1e2b3c', 3, 1],
    ['7D0F5A0E-9A3C-4C58-8F0F-0A4F5A1E2B3C', 3, 1],
    ['00000000-0000-4000-8000-000000000000', 16, 2],
    ['ffffffff-ffff-4fff-bfff-ffffffffffff', 16, 9],
    ['ffffffff-ffff-4fff-bfff-ffffffffffff', 1, 0],
  ])('never changes: %s of %i is %i', (id, count, shard) => {
    expect(shardNumber(id, count)).toBe(shard);
  });

  it.each([
    ['chosen by chance', () => randomUUID()],
    ['counted', sequential],
    ['in the order of time', byTime],
  ])('is each one as often where ids are %s', (_, idOf) => {
    const ids = Array.from({ length: 48_000 }, (_each, index) => idOf(index));
    for (const count of [2, 3, 16]) {
      const found = Array.from({ length: count }, () => 0);
      for (const id of ids) found[shardNumber(id, count)]! += 1;
      for (const each of found) expect(Math.abs(each * count - ids.length) / ids.length).toBeLessThan(0.15);
    }
  });

  it('leaves no bucket of its seen marks empty', () => {
    const ids = Array.from({ length: 48_000 }, () => randomUUID()).filter((id) => shardNumber(id, 16) === 5);
    expect(new Set(ids.map(bucketOf)).size).toBe(256);
  });

  it('divides a list and keeps the order of each part', () => {
    const shards = shardsOf(3);
    const ids = Array.from({ length: 30 }, (_, index) => sequential(index));
    const parts = shards.divide(ids, (id) => id);
    expect(parts.flatMap(([, part]) => part).toSorted()).toEqual(ids);
    for (const [shard, part] of parts) expect(part).toEqual(ids.filter((id) => shards.of(id) === shard));
    expect(shards.divide([], String)).toEqual([]);
  });

  it('divides nothing where there is one', () => {
    const shards = shardsOf(1);
    const ids = [sequential(1), sequential(2)];
    expect(shards.divide(ids, (id) => id)).toEqual([[shards.all[0], ids]]);
  });
});
