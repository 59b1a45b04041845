import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { PinoLog } from '@relay/telemetry';
import { MemoryPartitionProgress, MemoryState } from '@relay/testing';
import type { EachBatchPayload, Kafka } from 'kafkajs';
import { FetchWatch } from './consumer-watch.js';
import { KafkaLogStrategy } from './kafka-log.strategy.js';
import { LOG_CHUNK, type LogChunk } from './batch.js';
import { LogReader } from './log-reader.js';
import { PartitionReader } from './partition-reader.js';

const topic = 'task.created';
const noIds = { of: async () => undefined };
const at = { topic, partition: 0 };
const events = {
  FETCH: 'f',
  GROUP_JOIN: 'j',
  HEARTBEAT: 'h',
  CRASH: 'c',
  REBALANCING: 'r',
  END_BATCH_PROCESS: 'e',
};
const turn = (): Promise<void> =>
  new Promise((done) => {
    setImmediate(done);
  });

/** A transport whose fetches the spec makes, over a partition that Redis knows up to `highWater`. */
async function reading(highWater: number, log: { low: number; high: number }, shards = 1) {
  const progress = new MemoryPartitionProgress(new MemoryState());
  const parts = shards === 1 ? [at] : Array.from({ length: shards }, (_, shard) => ({ ...at, shard, shards }));
  for (const part of parts) await progress.own(part, '', { start: highWater, take: true });
  /** The first offset that is younger than what was read, and the leader of what is fetched. */
  const kafka = { younger: log.high, leader: 0 };
  const bounds = {
    fetchOffsets: async () => [],
    fetchTopicOffsets: async () => [
      { partition: 0, offset: String(log.high), high: String(log.high), low: String(log.low) },
    ],
    fetchTopicOffsetsByTimestamp: async () => [{ partition: 0, offset: String(kafka.younger) }],
  };
  const expired: number[] = [];
  const options = {
    groupId: 'g',
    topics: () => [],
    flushEveryMs: 1e9,
    commitEveryMs: 1e9,
    compareEveryMs: 1e9,
    shards,
    expired: (records: number) => void expired.push(records),
  };
  const reader = new LogReader(progress, bounds, noIds, new PinoLog('spec', 'silent'), options);
  const sought: number[] = [];
  const listeners = new Map<string, (event: { payload: unknown }) => void>();
  let eachBatch: (payload: EachBatchPayload) => Promise<void> = async () => undefined;
  const consumer = {
    events,
    on: (name: string, listener: (event: { payload: unknown }) => void) => void listeners.set(name, listener),
    connect: async () => undefined,
    subscribe: async () => undefined,
    seek: ({ offset }: { offset: string }) => void sought.push(Number(offset)),
    run: async (how: { eachBatch: typeof eachBatch }) => void ({ eachBatch } = how),
  };
  const client = { consumer: () => consumer } as unknown as Kafka;
  const noPause = { end: () => undefined };
  const transport = {
    groupId: 'g',
    deployment: 'd',
    topics: () => [topic],
    onTopics: () => undefined,
    onDead: () => undefined,
  };
  const strategy = new KafkaLogStrategy(client, reader, noPause, transport, new FetchWatch());
  const handedOut: number[] = [];
  /** Records that a marker of a transaction follows. */
  const marked = new Set<number>();
  /** What the store of a shard has to answer first. */
  const answers = new Map<number, Promise<void>>();
  const beats: { count: number; fault?: Error } = { count: 0 };
  strategy.addHandler(LOG_CHUNK, async (chunk: LogChunk) => {
    const take = async (part: LogChunk['parts'][number]): Promise<void> => {
      const { shard = 0 } = part.at;
      if (answers.has(shard) && (await part.answered(answers.get(shard) as Promise<void>)) === undefined) return;
      const mine = chunk.records.filter(({ offset }) => offset % shards === shard);
      for (const record of mine) if (part.accept(record) !== undefined) handedOut.push(record.offset);
      part.ended();
    };
    await Promise.all(chunk.parts.map(take));
  });
  await strategy.listen(() => undefined);
  const tell = (name: string, payload: unknown): void => listeners.get(name)?.({ payload });
  const join = (): void => tell(events.GROUP_JOIN, { memberAssignment: { [topic]: [0] } });
  /** Hands over what a fetch at `fetched` found. */
  const batch = async (fetched: number, ...offsets: number[]): Promise<void> => {
    const messages = offsets.map((offset) => ({
      offset: String(offset),
      key: null,
      value: null,
      timestamp: String(1_000 + offset),
      headers: {},
      batchContext: { partitionLeaderEpoch: kafka.leader },
    }));
    // kafkajs drops a batch once something was sought.
    const before = sought.length;
    const payload = {
      batch: {
        ...at,
        messages,
        // A marker is behind each record of a transaction.
        rawMessages: messages.flatMap((message) =>
          marked.has(Number(message.offset)) ? [message, { offset: String(Number(message.offset) + 1) }] : [message],
        ),
        fetchedOffset: String(fetched),
        highWatermark: String(log.high),
        lastOffset: () => messages.at(-1)?.offset,
      },
      isStale: () => sought.length > before,
      resolveOffset: () => undefined,
      heartbeat: async () => {
        beats.count += 1;
        if (beats.fault !== undefined) throw beats.fault;
      },
    };
    await eachBatch(payload as unknown as EachBatchPayload);
  };
  join();
  await turn();
  return { reader, progress, bounds, kafka, sought, handedOut, marked, expired, answers, beats, join, batch, tell };
}

describe('the transport of the log', () => {
  it('leaves a heartbeat that fails while records are handed out to kafkajs', async () => {
    const { reader, handedOut, answers, beats, batch } = await reading(500, { low: 0, high: 1_000 });
    answers.set(0, new Promise(() => undefined));
    beats.fault = new Error('the group rebalances');
    await expect(batch(500, 500)).rejects.toThrow('the group rebalances');
    expect(handedOut).toEqual([]);
    await reader.close();
  });

  it('asks for the next offset when it gets a batch from beyond it, after each join anew', async () => {
    const { reader, sought, handedOut, join, batch } = await reading(500, { low: 0, high: 1_000 });
    await batch(900, 900, 901);
    expect([sought, handedOut]).toEqual([[500, 500], []]);
    // kafkajs begins at the commit, 900, while Redis is reconnected.
    reader.reconnected();
    join();
    await turn();
    sought.length = 0;
    await batch(900, 900, 901);
    expect([sought, handedOut]).toEqual([[500], []]);
    await batch(500, 500, 501);
    expect(handedOut).toEqual([500, 501]);
    await reader.close();
  });

  it('goes on behind a gap of the log, which is what a fetch at the next offset finds first', async () => {
    const { reader, sought, handedOut, batch } = await reading(500, { low: 0, high: 1_000 });
    sought.length = 0;
    await batch(500, 510);
    expect([sought, handedOut]).toEqual([[], [510]]);
    await reader.close();
  });

  it('counts what compaction removed, each offset once, and no markers of transactions', async () => {
    const { reader, handedOut, marked, expired, batch } = await reading(500, { low: 0, high: 1_000 });
    marked.add(513);
    await batch(500, 510, 513, 515, 518);
    await batch(500, 510, 513, 515, 518, 519);
    expect([handedOut, expired]).toEqual([[510, 513, 515, 518, 519], [14]]);
    await reader.close();
  });

  it('goes on behind what retention deleted, and misses no record that Kafka still has', async () => {
    const { reader, sought, handedOut, batch } = await reading(500, { low: 700, high: 1_000 });
    sought.length = 0;
    await batch(900, 900);
    expect([sought, handedOut]).toEqual([[700], []]);
    sought.length = 0;
    await batch(700, 700);
    expect([sought, handedOut]).toEqual([[], [700]]);
    await reader.close();
  });

  it('misses no marker that it has met when retention deletes it later', async () => {
    const { reader, handedOut, expired, batch, tell } = await reading(500, { low: 503, high: 1_000 });
    tell(events.END_BATCH_PROCESS, { ...at, batchSize: 0, firstOffset: '500', lastOffset: '501' });
    await batch(502, 503);
    expect([handedOut, expired]).toEqual([[503], [1]]);
    await reader.close();
  });

  it('hands nothing out before it has asked for the offset that it begins at', async () => {
    const { reader, progress, sought, handedOut, batch } = await reading(500, { low: 0, high: 1_000 });
    let answer = (): void => undefined;
    const answered = new Promise<void>((done) => (answer = done));
    const own = jest.spyOn(progress, 'own').mockImplementationOnce(async (...claim) => {
      await answered;
      return MemoryPartitionProgress.prototype.own.apply(progress, claim);
    });
    sought.length = 0;
    reader.reconnected();
    const handed = batch(500, 500);
    await turn();
    expect([sought, handedOut]).toEqual([[], []]);
    answer();
    await handed;
    expect(handedOut).toEqual([]);
    await batch(500, 500);
    own.mockRestore();
    expect([sought, handedOut]).toEqual([[500], [500]]);
    await reader.close();
  });

  it('leaves the records of a shard that does not answer behind, and takes them up when it does', async () => {
    const { reader, progress, sought, handedOut, answers, batch, tell } = await reading(
      500,
      { low: 0, high: 1_000 },
      2,
    );
    answers.set(1, new Promise(() => undefined));
    await batch(500, 500, 501, 502);
    expect(handedOut).toEqual([500, 502]);
    expect(reader.reading(topic, 0).map((one) => one.at.shard)).toEqual([0]);
    await batch(503, 503, 504);
    expect(handedOut).toEqual([500, 502, 504]);
    answers.clear();
    sought.length = 0;
    const owned = jest.spyOn(progress, 'own');
    tell(events.HEARTBEAT, {});
    await turn();
    expect([owned.mock.calls.map(([{ shard }]) => shard), sought]).toEqual([[1], [500]]);
    await batch(500, 500, 501, 502, 503, 504);
    expect(handedOut).toEqual([500, 502, 504, 501, 503]);
    await reader.close();
  });

  it('hands out the records of a shard in a batch that the others took while it was compared', async () => {
    const { reader, bounds, sought, handedOut, join, batch } = await reading(500, { low: 0, high: 1_000 }, 2);
    await batch(500, 500, 501);
    const end = await bounds.fetchTopicOffsetsByTimestamp();
    let answer = (): void => undefined;
    jest
      .spyOn(bounds, 'fetchTopicOffsetsByTimestamp')
      .mockResolvedValueOnce(end)
      .mockReturnValueOnce(new Promise((done) => (answer = () => done(end))));
    join();
    await turn();
    await batch(502, 502, 503);
    expect(handedOut).toEqual([500, 501, 502]);
    sought.length = 0;
    answer();
    await turn();
    expect(sought).toEqual([502]);
    await batch(502, 502, 503);
    expect(handedOut).toEqual([500, 501, 502, 503]);
    await reader.close();
  });

  it.each([1, 2])(
    'asks whether what was read is lost before it takes what another leader wrote, with %i shards',
    async (shards) => {
      const { reader, bounds, kafka, sought, handedOut, batch } = await reading(500, { low: 0, high: 1_000 }, shards);
      const asked = jest.spyOn(bounds, 'fetchTopicOffsetsByTimestamp');
      await batch(500, 500, 501);
      await batch(502, 502, 503);
      expect([asked.mock.calls.length, handedOut]).toEqual([0, [500, 501, 502, 503]]);

      // The new leader has all that was read.
      kafka.leader = 1;
      sought.length = 0;
      await batch(504, 504, 505);
      await batch(504, 504, 505);
      expect([asked.mock.calls.length, handedOut.length]).toEqual([shards, 6]);

      // Its records 502 to 505 are lost, and others of the next leader stand there.
      [kafka.leader, kafka.younger] = [2, 502];
      await batch(506, 506, 507);
      expect(handedOut).toHaveLength(6);
      expect(sought.at(-1)).toBe(500);
      await batch(500, 502, 503, 504, 505, 506, 507);
      expect(handedOut.slice(6).toSorted((a, b) => a - b)).toEqual([502, 503, 504, 505, 506, 507]);
      await reader.close();
    },
  );

  it('waits for the only shard for as long as it takes', async () => {
    const { reader, handedOut, answers, beats, batch } = await reading(500, { low: 0, high: 1_000 });
    let answer = (): void => undefined;
    answers.set(0, new Promise((done) => (answer = done)));
    const doubted = jest.spyOn(PartitionReader.prototype, 'doubt');
    const handed = batch(500, 500, 501);
    while (beats.count < 2) await delay(50); // one each half a second that it waits
    expect(doubted).not.toHaveBeenCalled();
    answer();
    await handed;
    expect(handedOut).toEqual([500, 501]);
    doubted.mockRestore();
    await reader.close();
  });
});
