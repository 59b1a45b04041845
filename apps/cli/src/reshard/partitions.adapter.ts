import { readRecord } from '@relay/events';
import { type Kafka, logRecordOf, readRanges, withAdmin } from '@relay/kafka';
import {
  droppedKey,
  isReplay,
  parkedKey,
  parkingKey,
  progressKey,
  rangesText,
  readRanges as rangesIn,
  type LogPartition,
} from '@relay/progress';
import { shardNumber } from '@relay/redis';
import type { KafkaConfig } from '../connections.adapter.js';
import { Division } from './division.js';
import { partitionsOf, type Move } from './inventory.adapter.js';
import { nameOf, oldParts, orderedIn, replayTexts, type Order } from './orders.adapter.js';
import { addEntries, divide, entriesOf } from './scan.adapter.js';

/** Reads the records of which the old shards disagree whether they wait, and tells them to the divisions of their partitions. */
export type ReadDisputed = (
  divisions: readonly Division[],
  shards: readonly [old: number, wanted: number],
) => Promise<void>;

/** Progress of one partition in the old shards; undefined of those that know nothing of it. */
type Old = readonly (Readonly<Record<string, string>> | undefined)[];

/**
 * Copies what is kept by partition of the log.
 * @param orders the replays that are kept
 * @returns how the ranges of each partition were divided
 */
export async function copyPartitions(
  move: Move,
  orders: readonly Order[],
  readDisputed: ReadDisputed,
): Promise<Division[]> {
  const divisions: Division[] = [];
  for (const at of partitionsOf(move.inventory, orderedIn(orders))) {
    const old = await oldProgress(move, at);
    copyProgress(move, at, old);
    await copyDropped(move, at);
    await divide(move, {
      parts: ['partial', at.topic, String(at.partition)],
      type: 'hash',
      envelopeOf: (id) => id.toString(),
    });
    divisions.push(await divisionOf(move, at, orders, readToOf(old)));
    await move.writes.relieve();
  }
  const disputed = divisions.filter((division) => division.disputed !== undefined);
  if (disputed.length > 0) await readDisputed(disputed, [move.from.all.length, move.to.all.length]);
  for (const division of divisions) await writeParking(move, division, orders);
  return divisions;
}

const oldProgress = ({ from }: Move, at: LogPartition): Promise<Old> =>
  Promise.all(
    from.all.map(async (shard) => {
      const fields = await shard.redis.hgetall(progressKey(shard, at));
      return fields['highWater'] === undefined ? undefined : fields;
    }),
  );

/**
 * Above the lowest high water what is settled is read again, and its marks drop it. `next` and `read` are the highest: below them
 * repeats were remembered, and the log was there.
 */
function copyProgress({ to, writes }: Move, at: LogPartition, old: Old): void {
  const known = old.filter((fields) => fields !== undefined);
  const [first] = known;
  // If one old shard knows nothing of the partition, every new shard begins at the first record of the log.
  if (first === undefined || known.length < old.length) return;
  const all = (name: string): number[] => known.flatMap((fields) => fields[name] ?? []).map(Number);
  const reads = known.flatMap(({ read }) => (read === undefined ? [] : [read.split(' ')]));
  const largest = (index: number): number => Math.max(...reads.map((read) => Number(read[index] ?? 0)));
  // The ids of the topic. A shard that knows fewer has not yet begun with the log of a topic that was created again.
  const [[, , ...topicIds] = []] = reads.toSorted((a, b) => a.length - b.length);
  const nexts = all('next');
  const fields = {
    owner: '',
    highWater: Math.min(...all('highWater')),
    sequence: Math.max(...all('sequence')) + 1,
    ...(nexts.length === 0 ? {} : { next: Math.max(...nexts) }),
    ...(reads.length === 0 ? {} : { read: [largest(0), largest(1), ...topicIds].join(' ') }),
  };
  for (const shard of to.all) writes.add(shard, 200, (pipeline) => pipeline.hset(progressKey(shard, at), fields));
}

/** No old shard handed out a record from this offset on. */
const readToOf = (old: Old): number =>
  Math.max(
    0,
    ...old
      .flatMap((fields) => [fields?.['highWater'], fields?.['next'], fields?.['read']?.split(' ')[0]])
      .map((offset) => Number(offset ?? 0)),
  );

/** An offset belongs to one shard, and is in no other's way. */
async function copyDropped({ from, to, writes }: Move, at: LogPartition): Promise<void> {
  for (const shard of from.all)
    for await (const offsets of entriesOf(shard.redis, 'sorted', droppedKey(shard, at))) {
      for (const target of to.all)
        writes.add(target, 30 * offsets.length, (pipeline) =>
          addEntries(pipeline, 'sorted', droppedKey(target, at), offsets),
        );
      await writes.relieve();
    }
}

async function divisionOf(
  { from, to }: Move,
  at: LogPartition,
  orders: readonly Order[],
  readTo: number,
): Promise<Division> {
  const division = new Division(at, readTo, to.all.length);
  const parkings = await Promise.all(from.all.map((shard) => shard.redis.hgetall(parkingKey(shard, at))));
  const webhooks = new Set(parkings.flatMap(Object.keys).filter((key) => !isReplay(key)));
  for (const id of webhooks)
    division.add(
      id,
      parkings.map((parking) => rangesIn(parking[id] ?? '')),
    );
  for (const order of orders) {
    const parts = oldParts(order, at);
    if (parts !== undefined)
      division.add(
        order.key,
        parts.map(({ ranges }) => ranges),
      );
  }
  return division;
}

/** Writes the ranges of one partition into the new shards: of parked webhooks with their index, and of replays. */
async function writeParking(move: Move, division: Division, orders: readonly Order[]): Promise<void> {
  const { to, writes } = move;
  const { at } = division;
  for (const key of division.keys) {
    if (isReplay(key)) continue;
    for (const [number, ranges] of division.of(key).entries()) {
      const shard = to.all[number];
      if (shard === undefined || ranges.length === 0) continue;
      const text = rangesText(ranges);
      writes.add(shard, text.length, (pipeline) => {
        pipeline.hset(parkingKey(shard, at), key, text);
        pipeline.hset(parkedKey(shard, key), nameOf(at), text);
        pipeline.sadd(parkedKey(shard), key);
      });
    }
    await writes.relieve();
  }
  for (const order of orders) {
    for (const [number, { text, isLeft }] of replayTexts(move, division, order).entries()) {
      const shard = to.all[number];
      if (shard === undefined) continue;
      writes.add(shard, text.length, (pipeline) => {
        if (isLeft) pipeline.hset(parkingKey(shard, at), order.key, text);
        // With one shard the index of a replay is its order, which changes with the number of shards.
        if (to.all.length === 1) return;
        pipeline.hset(parkedKey(shard, order.key), nameOf(at), text);
        if (order.life > 0) pipeline.pexpire(parkedKey(shard, order.key), order.life);
      });
    }
    await writes.relieve();
  }
}

export const disputedLog =
  (kafka: Kafka, settings: KafkaConfig): ReadDisputed =>
  async (divisions, [old, wanted]) => {
    const { KAFKA_TOPIC_PREFIX: prefix, KAFKA_CONSUMER_GROUP: group } = settings;
    const byName = new Map(divisions.map((division) => [nameOf(division.at), division]));
    const ranges = await withAdmin(kafka, async (admin) => {
      const bounds = new Map<string, { low: number; high: number }>();
      for (const topic of new Set(divisions.map(({ at }) => at.topic)))
        for (const { partition, low, high } of await admin.fetchTopicOffsets(topic))
          bounds.set(nameOf({ topic, partition }), { low: Number(low), high: Number(high) });
      return divisions.flatMap(({ at, disputed }) => {
        const { low, high } = bounds.get(nameOf(at)) ?? { low: 0, high: 0 };
        if (disputed === undefined) return [];
        return [{ ...at, from: Math.max(low, disputed.from), end: Math.min(high, disputed.end) }];
      });
    });
    await readRanges(kafka, ranges, group, (range, messages) => {
      for (const message of messages) {
        const item = readRecord(logRecordOf(message), range.topic, prefix);
        if (item.kind !== 'envelope') continue;
        const { id } = item.envelope;
        byName.get(nameOf(range))?.take(Number(message.offset), [shardNumber(id, old), shardNumber(id, wanted)]);
      }
    });
  };
