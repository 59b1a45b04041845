import { PinoLog } from '@relay/telemetry';
import { MemoryPartitionProgress, MemoryState } from '@relay/testing';
import { LogReader } from './log-reader.js';

export const topic = 'task.created';
const NEVER = { flushEveryMs: 1e9, commitEveryMs: 1e9, compareEveryMs: 1e9 };
export const turn = (): Promise<void> =>
  new Promise((done) => {
    setImmediate(done);
  });

/** Returns a reader that has been assigned one partition. `log.high` is the end offset of the partition's log. */
export async function assigned(topicId?: string) {
  const state = new MemoryState();
  const progress = new MemoryPartitionProgress(state);
  await progress.own({ topic, partition: 0 }, '', { start: 0, take: true });
  /** `times` has the timestamps of the records; the index is the offset. */
  const log: { high: number; low: number; committed: number; times: number[] } = {
    high: 0,
    low: 0,
    committed: -1,
    times: [],
  };
  const said: [string, unknown][] = [];
  const commits: string[] = [];
  const sought: number[] = [];
  const bounds = {
    fetchOffsets: async () => [
      { topic, partitions: [{ partition: 0, offset: String(log.committed), metadata: null }] },
    ],
    fetchTopicOffsets: async () => [
      { partition: 0, offset: String(log.high), high: String(log.high), low: String(log.low) },
    ],
    fetchTopicOffsetsByTimestamp: async (_topic: string, time = 0) => {
      const first = log.times.findIndex((at) => at >= time);
      return [{ partition: 0, offset: String(first === -1 ? log.high : first) }];
    },
  };
  const logger = new PinoLog('spec', 'silent');
  const error: PinoLog['error'] = (event, _text, fields) => void said.push([event, fields]);
  const warn: PinoLog['warn'] = (event, _text, fields) => {
    if (event === 'log.begun_again') said.push([event, fields]);
  };
  const expired = (records: number): void => void said.push(['expired', records]);
  const options = { groupId: 'g', topics: () => [topic], ...NEVER, expired };
  const ids = { now: topicId, of: async () => ids.now };
  const reader = new LogReader(progress, bounds, ids, Object.assign(logger, { error, warn }), options);
  reader.use({
    seek: (_topic, _partition, offset) => sought.push(offset),
    commit: async (offsets) => void commits.push(...offsets.map(({ offset }) => offset)),
  });
  reader.assigned({ [topic]: [0] });
  await turn();
  const highWater = (): number | undefined => state.now.progress.get(`${topic}/0`)?.highWater;
  return { reader, log, ids, said, sought, commits, state, progress, highWater };
}

/** Reads ten records with timestamps 100 s apart. A webhook is parked from the third record on. */
export async function read(
  times = Array.from({ length: 10 }, (_, offset) => 1_000_000 + 100_000 * offset),
  topicId?: string,
) {
  const of = await assigned(topicId);
  const { reader, log } = of;
  [log.high, log.times] = [times.length, times];
  for (const [offset, time] of times.entries()) {
    const record = reader.reading(topic, 0)[0]?.accept(offset, undefined, time);
    if (offset === 2) record?.park('w');
    record?.settled();
  }
  await reader.flush();
  of.sought.length = 0;
  const rest = () => reader.catchUpPartitions()[0]?.rest('w');
  return { ...of, rest };
}
