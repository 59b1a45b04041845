import { readRecord } from '@relay/events';
import { logRecordOf, readRanges, withAdmin } from '@relay/kafka';
import type { Kafka } from 'kafkajs';
import { shardNumber } from '@relay/redis';
import type { KafkaConfig } from '../connections.adapter.js';
import type { Division } from './division.js';

/** Reads the records of which the old shards disagree whether they wait, and tells them to the divisions of their partitions. */
export type ReadDisputed = (
  divisions: readonly Division[],
  shards: readonly [old: number, wanted: number],
) => Promise<void>;

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

const nameOf = ({ topic, partition }: { topic: string; partition: number }): string => `${topic}/${partition}`;
