import type { Admin } from 'kafkajs';
import type { LogRange } from './topic-reader.adapter.js';

/** Time of writing in epoch milliseconds: `[since, until)`; undefined is open. */
export interface TimeWindow {
  readonly since: number | undefined;
  readonly until: number | undefined;
}

/**
 * The range of each partition of a topic within a window, which may be empty. A range begins at the first record that is not
 * older than `since`, so records whose times are out of order may be on the wrong side. Includes partitions that were added a
 * moment ago, since kafkajs' admin client asks for the partitions each time.
 */
export async function rangesWithin(admin: Admin, topic: string, window: TimeWindow): Promise<LogRange[]> {
  const bounds = await admin.fetchTopicOffsets(topic);
  const [since, until] = await Promise.all([
    offsetsAt(admin, topic, window.since),
    offsetsAt(admin, topic, window.until),
  ]);
  return bounds.map(({ partition, low, high }) => ({
    topic,
    partition,
    from: Math.max(Number(low), since.get(partition) ?? 0),
    end: Math.min(Number(high), until.get(partition) ?? Infinity),
  }));
}

async function offsetsAt(admin: Admin, topic: string, time: number | undefined): Promise<Map<number, number>> {
  if (time === undefined) return new Map();
  // For Kafka negative times have special meanings, such as the newest or the oldest record.
  const found = await admin.fetchTopicOffsetsByTimestamp(topic, Math.max(0, time));
  return new Map(found.map(({ partition, offset }) => [partition, Number(offset)]));
}
