import { type LogPartition, type ParkedRange, parkingKey, readRanges, without } from '@relay/progress';
import type { Shards } from '@relay/redis';
import type { NewReplay, ReplayRange } from './replays.adapter.js';

/**
 * The ranges without what waits in the log for the webhook, which it gets anyway. Of several shards, without what waits in all:
 * what one of them has caught up can be replayed. A replay of dead letters needs none of this.
 */
export async function unwaitedRanges(
  shards: Shards,
  { webhookId, status }: Pick<NewReplay, 'webhookId' | 'status'>,
  ranges: readonly ReplayRange[],
): Promise<readonly ReplayRange[]> {
  if (status === 'failed') return ranges;
  const left = await Promise.all(
    ranges.map(async ({ topic, partition, from, end }) => {
      const at = { topic, partition };
      // Of a shard that is away nothing is left out.
      const texts = await Promise.all(
        shards.all.map((shard) => shard.redis.hget(parkingKey(shard, at), webhookId).catch(() => null)),
      );
      const [first = [], ...others] = texts.map((text) => readRanges(text ?? ''));
      const waiting = others.reduce<readonly ParkedRange[]>((all, of) => without(all, without(all, of)), first);
      return without([{ from, to: end }], waiting).map((part) => ({
        topic,
        partition,
        from: part.from,
        end: part.to ?? end,
      }));
    }),
  );
  return left.flat();
}

/** The ranges of each partition. */
export function partitionsOf(
  ranges: readonly ReplayRange[],
): (LogPartition & { readonly ranges: readonly ParkedRange[] })[] {
  const found = new Map<string, LogPartition & { readonly ranges: ParkedRange[] }>();
  for (const { from, end, ...at } of ranges) {
    const name = `${at.topic}/${at.partition}`;
    const known = found.get(name) ?? { ...at, ranges: [] };
    known.ranges.push({ from, to: end });
    found.set(name, known);
  }
  return [...found.values()];
}
