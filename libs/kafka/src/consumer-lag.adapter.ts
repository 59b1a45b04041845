import type { Admin } from 'kafkajs';

/** Unsettled records of one topic by the committed offsets, which follow the high water within 5 s. */
export interface TopicLag {
  readonly topic: string;
  readonly lag: number;
}

/** The lag of a group by topic, without missing topics. Rejects when no broker answers. */
export async function readLag(admin: Admin, groupId: string, topics: readonly string[]): Promise<TopicLag[]> {
  const existing = new Set(await admin.listTopics());
  const asked = topics.filter((topic) => existing.has(topic));
  if (asked.length === 0) return [];
  const committed = await admin.fetchOffsets({ groupId, topics: asked });
  return Promise.all(
    committed.map(async ({ topic, partitions }) => {
      const offsets = new Map(partitions.map(({ partition, offset }) => [partition, Number(offset)]));
      const ends = await admin.fetchTopicOffsets(topic);
      // Without a commit, or with one that retention has overtaken, reading starts at the oldest record.
      const lag = ends.reduce(
        (sum, { partition, high, low }) =>
          sum + Math.max(0, Number(high) - Math.max(offsets.get(partition) ?? -1, Number(low))),
        0,
      );
      return { topic, lag };
    }),
  );
}
