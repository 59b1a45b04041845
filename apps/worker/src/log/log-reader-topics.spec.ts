import { jest } from '@jest/globals';
import { LogReader } from './log-reader.js';
import { read, topic, turn } from './spec-log-reader.js';

describe('the reader of the log of a topic with an id', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  it('reads all of a topic that was created anew, whatever it read of it, and nothing again for an id that is gone', async () => {
    const { reader, log, ids, sought, said, highWater, rest } = await read(undefined, 'a');
    // As many records as were read before, and the worker has met one more.
    log.high = 11;
    reader.reading(topic, 0)[0]?.accept(10, undefined, 5_000_000)?.settled();
    ids.now = 'b';
    await reader.look();
    await reader.flush();
    expect([sought, highWater(), rest()]).toEqual([[0], 0, { from: 0 }]);
    expect(said).toEqual([['log.recreated', { topic, partition: 0, read: 11, topicId: 'b' }]]);
    expect(reader.catchUpPartitions()[0]?.takeExpired()).toEqual(new Map([['w', 9]]));
    ids.now = 'a';
    await reader.look();
    expect(sought).toEqual([0]);
    await reader.close();
  });

  it('hands out nothing while the topic does not exist, and goes on when it is the same', async () => {
    const { reader, ids, sought } = await read(undefined, 'a');
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    ids.now = undefined;
    reader.assigned({ [topic]: [0] });
    await turn();
    expect(reader.reading(topic, 0)).toEqual([]);
    ids.now = 'a';
    await jest.advanceTimersByTimeAsync(1_000);
    expect(reader.reading(topic, 0)).toHaveLength(1);
    expect(sought).toEqual([10]);
    await reader.close();
  });

  it("takes the first id that it is told for that of the log, and compares the next owner's with it", async () => {
    const { reader, ids, progress, said } = await read();
    ids.now = 'a';
    await reader.look();
    await reader.flush(true);
    reader.assigned({});
    await reader.flush();
    ids.now = 'b';
    const next = new LogReader(progress, reader['bounds'], ids, reader['log'], reader['options']);
    next.use({ seek: () => undefined, commit: async () => undefined });
    next.assigned({ [topic]: [0] });
    await turn();
    expect(said).toEqual([['log.recreated', { topic, partition: 0, read: 10, topicId: 'b' }]]);
    await Promise.all([reader.close(), next.close()]);
  });
});
