import type { Admin } from 'kafkajs';
import type { LogRange } from './topic-reader.adapter.js';

/** When records were written, in epoch milliseconds: from `since` to before `until`; undefined is open. */
export interface TimeWindow {
  readonly since: number | undefined;
  readonly until: number | undefined;
}

/**
 * What each partition of a topic holds of a time; one that holds nothing of it has an empty range. The first record that is
 * not older than a time begins it, so of records whose times are out of order some lie on the other side.
 * Of partitions that were added a moment ago it tells as well: kafkajs' admin client asks for them each time.
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
  // To Kafka a negative time means the newest record, the oldest or another one.
  const found = await admin.fetchTopicOffsetsByTimestamp(topic, Math.max(0, time));
  return new Map(found.map(({ partition, offset }) => [partition, Number(offset)]));
}
