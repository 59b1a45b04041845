import {
  describePartitionProgress,
  describeRetryQueue,
  MemoryPartitionProgress,
  MemoryRetryQueue,
  MemoryState,
} from './index.js';

describePartitionProgress('MemoryPartitionProgress', async () => {
  const state = new MemoryState();
  const progress = new MemoryPartitionProgress(state);
  return {
    progress,
    markPublished: async (entries) =>
      state.write(({ marks }) => {
        for (const { id, hash } of entries) marks.set(id, { state: 'published', hash });
      }),
    setRegistryVersion: async (version) => void (progress.registryVersion = version),
  };
});

describeRetryQueue('MemoryRetryQueue', async () => {
  const state = new MemoryState();
  return {
    queue: new MemoryRetryQueue(state),
    jobs: async () => [...state.now.jobs.values()],
    deadLetters: async () => [...state.now.deadLetters.values()],
  };
});

describe('state in memory', () => {
  it('goes back as a whole, to the end of a write, and never before the durable ones', async () => {
    const state = new MemoryState();
    const progress = new MemoryPartitionProgress(state);
    const at = { topic: 'task.created', partition: 0 };
    await progress.own(at, 'a', { start: 0, take: false });
    state.keep();
    for (const id of ['1', '2']) state.write(({ marks }) => marks.set(id, { state: 'published', hash: 'x' }));
    state.goBack(1);
    expect([...state.now.marks.keys()]).toEqual(['1']);
    expect(state.losable).toBe(1);
    state.goBack(5);
    expect(state.now.marks.size).toBe(0);
    expect(await progress.own(at, 'b', { take: true })).toEqual({ highWater: 0, sequence: 1 });
  });
});
