import { open, turn } from './spec-lanes.js';

describe('lanes', () => {
  it('send concurrent records at once, and later ones as the next batch', async () => {
    const { add, sent, last, outcomes } = open();
    for (const text of ['a', 'b']) add(text);
    await turn();
    for (const text of ['c', 'd', 'e']) add(text);
    await turn();
    expect(sent()).toEqual([['a', 'b']]);
    expect(outcomes).toEqual({});
    last().succeed();
    await turn();
    expect(outcomes).toEqual({ a: 'stored', b: 'stored' });
    expect(sent()).toEqual([
      ['a', 'b'],
      ['c', 'd', 'e'],
    ]);
  });

  it('return the offset of each record when that of its batch is known', async () => {
    const { add, last, outcomes } = open();
    for (const [text, partition] of [
      ['a', 0],
      ['b', 1],
      ['c', 0],
    ] as const)
      add(text, partition);
    await turn();
    last().succeed(7);
    await turn();
    expect(outcomes).toEqual({ a: 'stored at 7', b: 'stored', c: 'stored at 8' });
  });

  it('have one send in flight even when a broker may have several', async () => {
    const { add, sent, sendings } = open({ maxRequestsPerBroker: 3 });
    add('a', 0);
    await turn();
    add('b', 0);
    add('c', 1);
    await turn();
    expect(sent()).toEqual([['a'], ['c']]);
    sendings[0]?.succeed();
    await turn();
    expect(sent()).toEqual([['a'], ['c'], ['b']]);
  });

  it('share a request of one leader, never of two', async () => {
    const { add, sendings } = open({}, (_, partition) => partition % 2);
    for (const [index, text] of ['a', 'b', 'c', 'd'].entries()) add(text, index);
    add('e', 0, 'u');
    await turn();
    const places = sendings.map(({ batches }) => batches.map(({ topic, partition }) => `${topic}${partition}`));
    expect(places).toEqual([
      ['t0', 't2', 'u0'],
      ['t1', 't3'],
    ]);
  });

  it('bound a batch by records and by bytes, but send a record that is larger than a batch', async () => {
    const { add, sent, last } = open({ maxBatchRecords: 2, maxBatchBytes: 1_000 });
    for (const text of ['a', 'b', 'c'.repeat(700), 'd'.repeat(700), 'e'.repeat(5_000), 'f']) add(text);
    for (let n = 0; n < 5; n += 1) {
      await turn();
      last().succeed();
    }
    await turn();
    expect(sent().map((texts) => texts.map((text) => text[0]).join(''))).toEqual(['ab', 'c', 'd', 'e', 'f']);
  });

  it('reject a waiting record at its deadline, never send it, and go on with later ones', async () => {
    const { add, clock, sent, last, outcomes } = open();
    add('under way');
    await turn();
    clock.pass(1);
    add('waiting');
    clock.pass(7_998);
    expect(outcomes).toEqual({});
    clock.pass(1);
    add('later');
    await turn();
    expect(outcomes).toEqual({ 'under way': 'timeout' });
    clock.pass(1);
    await turn();
    expect(outcomes).toEqual({ 'under way': 'timeout', waiting: 'timeout' });
    last().succeed();
    await turn();
    expect(sent()).toEqual([['under way'], ['later']]);
  });

  it('keep a lane busy while a timed-out send is in flight', async () => {
    const { add, clock, sent, last } = open();
    add('a');
    await turn();
    clock.pass(8_000);
    add('b');
    await turn();
    expect(sent()).toEqual([['a']]);
    last().fail('timeout');
    await turn();
    clock.pass(100);
    await turn();
    expect(sent()).toEqual([['a'], ['b']]);
  });

  it('repeat a failed batch after each delay, reject it after the last one, and send later records after it', async () => {
    const { add, clock, sent, last, outcomes } = open();
    add('a');
    await turn();
    add('b');
    for (const wait of [100, 400]) {
      last().fail();
      await turn();
      expect(outcomes).toEqual({});
      clock.pass(wait);
      await turn();
    }
    expect(sent()).toEqual([['a'], ['a', 'b'], ['a', 'b']]);
    last().fail();
    await turn();
    expect(outcomes).toEqual({ a: 'unavailable', b: 'unavailable' });
    add('c');
    await turn();
    last().fail();
    await turn();
    expect(outcomes).not.toHaveProperty('c');
  });

  it('repeat each lane of a failed request on its own', async () => {
    const { add, clock, sent, last } = open();
    add('a', 0);
    add('b', 1);
    await turn();
    last().fail();
    await turn();
    clock.pass(100);
    for (let n = 0; n < 2; n += 1) {
      await turn();
      last().succeed();
    }
    await turn();
    expect(sent()).toEqual([['a', 'b'], ['a'], ['b']]);
  });

  it('find the record that the broker refuses and store its neighbours', async () => {
    const { add, sendings, outcomes } = open();
    for (const [text, partition] of [
      ['a', 0],
      ['bad', 1],
      ['c', 1],
      ['d', 0],
    ] as const)
      add(text, partition);
    for (let n = 0; n < 6; n += 1) {
      await turn();
      const sending = sendings[n];
      if (sending?.texts.includes('bad') === true) sending.fail('refused');
      else sending?.succeed();
    }
    await turn();
    expect(outcomes).toEqual({ a: 'stored', bad: 'refused', c: 'stored', d: 'stored' });
  });

  it('refuse records above their bound at once, and count only records in memory', async () => {
    const { add, clock, lanes, last, outcomes } = open({ maxWaitingBytes: 2_000 });
    add('a'.repeat(800));
    await turn();
    add('b'.repeat(800));
    add('over');
    await turn();
    expect(outcomes).toEqual({});
    add('o'.repeat(200));
    await turn();
    expect(outcomes).toEqual({ ['o'.repeat(200)]: 'overloaded' });
    clock.pass(8_000);
    await turn();
    expect(lanes.waitingBytes).toBeGreaterThan(800);
    expect(lanes.waitingBytes).toBeLessThan(1_000);
    last().succeed();
    await turn();
    expect(lanes.waitingBytes).toBe(0);
  });

  it('are idle when every record has its answer, and leave no timer behind', async () => {
    const { add, clock, lanes, last } = open();
    await lanes.idle();
    add('a');
    let isIdle = false;
    void lanes.idle().then(() => (isIdle = true));
    await turn();
    expect(isIdle).toBe(false);
    last().succeed();
    await turn();
    expect(isIdle).toBe(true);
    expect(clock.timers).toBe(0);
  });
});
