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
  readReplay,
  type LogPartition,
} from '@relay/progress';
import { onlyShard, shardNumber, type Shards } from '@relay/redis';
import type { KafkaConfig } from '../stores.adapter.js';
import { Division } from './division.js';
import { addEntries, divide, entriesOf, ordersIn, partitionsOf, type Move } from './layout.adapter.js';
import type { NewOrder } from './number.adapter.js';

/** Reads the records about which the old shards disagree, and passes them to the divisions of their partitions. */
export type ReadDisputed = (
  divisions: readonly Division[],
  shards: readonly [old: number, wanted: number],
) => Promise<void>;

/** The progress of one partition in each old shard; undefined for a shard that knows nothing of the partition. */
type Old = readonly (Readonly<Record<string, string>> | undefined)[];

/**
 * Copies the keys of the partitions of the log.
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
 * Gives every new shard the lowest high water of the old shards. Workers therefore read some settled records again, but drop
 * them because of their seen marks. `next` gets its highest value, because repeats below it were remembered. `read` also
 * gets its highest value, because the log existed below it.
 */
function copyProgress({ to, writes }: Move, at: LogPartition, old: Old): void {
  const known = old.filter((fields) => fields !== undefined);
  const [first] = known;
  // If one old shard knows nothing of the partition, nothing is copied. Every new shard then begins at the first record of
  // the log.
  if (first === undefined || known.length < old.length) return;
  const all = (name: string): number[] => known.flatMap((fields) => fields[name] ?? []).map(Number);
  const reads = known.flatMap(({ read }) => (read === undefined ? [] : [read.split(' ')]));
  const largest = (index: number): number => Math.max(...reads.map((read) => Number(read[index] ?? 0)));
  // A topic that was deleted and created again has another id. A shard that has not yet begun with the new log knows fewer
  // ids. The new shards get the shortest list of ids, so they begin with the new log too.
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

/** No old shard has dispatched a record at or above this offset. */
const readToOf = (old: Old): number =>
  Math.max(
    0,
    ...old
      .flatMap((fields) => [fields?.['highWater'], fields?.['next'], fields?.['read']?.split(' ')[0]])
      .map((offset) => Number(offset ?? 0)),
  );

/** Copies dropped offsets into every new shard. A shard uses only the offsets of its own records. */
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

/**
 * Writes the ranges of one partition into the new shards: the ranges of replays, and those of parked webhooks with their
 * index.
 */
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
        // With one shard, a replay has a single key for its index and its order. `switchNumber` writes this key.
        if (to.all.length === 1) return;
        pipeline.hset(parkedKey(shard, order.key), nameOf(at), text);
        if (order.life > 0) pipeline.pexpire(parkedKey(shard, order.key), order.life);
      });
    }
    await writes.relieve();
  }
}

/** A replay that Redis still keeps. Its order, and its part in each old shard, map partitions to range texts. */
export interface Order {
  readonly key: string;
  readonly ordered: Readonly<Record<string, string>>;
  readonly parts: readonly Readonly<Record<string, string>>[];
  /** How long the replay is still kept, in milliseconds; 0 or less if there is no limit. */
  readonly life: number;
}

/** Reads all replays that Redis still keeps. */
export async function readOrders(from: Shards): Promise<Order[]> {
  const slot = onlyShard(from.global);
  const orders: Order[] = [];
  for (const key of await ordersIn(slot)) {
    const [ordered, life, ...parts] = await Promise.all([
      from.global.hgetall(parkedKey(slot, key)),
      from.global.pttl(parkedKey(slot, key)),
      // With one shard, the part is the same hash as the order.
      ...from.all.map((shard) => shard.redis.hgetall(parkedKey(shard, key))),
    ]);
    orders.push({ key, ordered, parts, life });
  }
  return orders;
}

const orderedIn = (orders: readonly Order[]): string[] =>
  orders.flatMap(({ ordered }) =>
    Object.keys(ordered)
      .filter((name) => name.includes('/'))
      .map((name) => name.replace('/', ':')),
  );

const nameOf = ({ topic, partition }: LogPartition): string => `${topic}/${partition}`;

/**
 * Returns, for each old shard, the ranges that a replay still has in one partition, and its counts. If a shard has not begun
 * the replay, all ordered ranges are left there. If no shard has begun the replay, the result is undefined.
 */
function oldParts({ ordered, parts }: Order, at: LogPartition) {
  const name = nameOf(at);
  if (parts.every((part) => part[name] === undefined)) return undefined;
  return parts.map((part) => {
    const taken = part[name];
    const { ranges, counts } = readReplay(taken ?? ordered[name] ?? '');
    return taken === undefined ? { ranges, done: 0, failed: 0 } : { ranges, ...counts };
  });
}

/**
 * Returns what a replay still has in a partition, for each new shard. If no old shard has begun the replay, several new
 * shards get nothing, because they begin it from its order; a single new shard gets the text of the order. If an old shard
 * has begun the replay, the first new shard gets the sum of the counts.
 */
function replayTexts({ to }: Move, division: Division, order: Order): { text: string; isLeft: boolean }[] {
  const parts = oldParts(order, division.at);
  if (parts === undefined) {
    const ordered = order.ordered[nameOf(division.at)];
    // A single shard does not read orders, so its own ranges must contain the ranges of the replay.
    return to.all.length > 1 || ordered === undefined ? [] : [{ text: ordered, isLeft: !ordered.startsWith('|') }];
  }
  const sum = { done: 0, failed: 0 };
  for (const { done, failed } of parts) {
    sum.done += done;
    sum.failed += failed;
  }
  return division.of(order.key).map((ranges, number) => ({
    text: rangesText(ranges, number === 0 ? sum : { done: 0, failed: 0 }),
    isLeft: ranges.length > 0,
  }));
}

/**
 * Returns the orders of replays in the form that the new number of shards needs. With one shard, an order contains the
 * ranges that are left and the counts. With several shards, an order contains what was ordered, and each shard has its own
 * counts. So if a shard is lost and repeats its part, its counts are not added twice.
 * @param running range keys of the replays that run or are paused
 */
export function newOrders(
  move: Move,
  orders: readonly Order[],
  divisions: readonly Division[],
  running: ReadonlySet<string>,
): NewOrder[] {
  if (move.to.all.length === 1) return orders.map((order) => ofOneShard(move, order, divisions, running));
  return move.from.all.length === 1 ? orders.map(ofSeveral) : [];
}

function ofOneShard(move: Move, order: Order, divisions: readonly Division[], running: ReadonlySet<string>): NewOrder {
  const texts = Object.fromEntries(
    divisions.flatMap((division) => {
      const [only] = replayTexts(move, division, order);
      return only === undefined ? [] : [[nameOf(division.at), only.text]];
    }),
  );
  const isDone = Object.values(texts).every((text) => text.startsWith('|'));
  return { key: order.key, texts, hasEnded: isDone && running.has(order.key) };
}

function ofSeveral({ key, ordered }: Order): NewOrder {
  const parts = Object.entries(ordered).filter(([name]) => name.includes('/'));
  const texts = parts.map(([name, text]) => [name, rangesText(readReplay(text).ranges, { done: 0, failed: 0 })]);
  return { key, texts: Object.fromEntries(texts) as Record<string, string>, hasEnded: false };
}

/** Reads the disputed records from the log in Kafka. */
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
