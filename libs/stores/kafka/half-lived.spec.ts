import { halfLived, type Pass } from './kafka-client.adapter.js';

interface Asked {
  readonly give: (pass: Pass) => void;
  readonly fail: (error: Error) => void;
}

/** A source that answers when told to, and a clock. */
function setUp() {
  const asked: Asked[] = [];
  const clock = { ms: 0 };
  const source = (): Promise<Pass> => new Promise((give, fail) => asked.push({ give, fail }));
  return { asked, clock, get: halfLived(source, () => clock.ms) };
}

describe('a pass that half its life is used of', () => {
  it('is asked for once by all who come meanwhile and in the first half of its life', async () => {
    const { asked, clock, get } = setUp();
    const both = [get(), get()];
    asked[0]?.give({ value: 'a', livesMs: 1000 });
    expect(await Promise.all(both)).toEqual(['a', 'a']);
    clock.ms = 499;
    expect(await get()).toBe('a');
    expect(asked).toHaveLength(1);
  });

  it('is replaced after the half of it, and by those who ask at once only once', async () => {
    const { asked, clock, get } = setUp();
    const first = get();
    asked[0]?.give({ value: 'a', livesMs: 1000 });
    await first;
    clock.ms = 500;
    const both = [get(), get()];
    expect(asked).toHaveLength(2);
    asked[1]?.give({ value: 'b', livesMs: 1000 });
    expect(await Promise.all(both)).toEqual(['b', 'b']);
  });

  it('is asked for anew after a fault', async () => {
    const { asked, get } = setUp();
    const first = get();
    asked[0]?.fail(new Error('no'));
    await expect(first).rejects.toThrow('no');
    const second = get();
    asked[1]?.give({ value: 'b', livesMs: 1000 });
    expect(await second).toBe('b');
  });
});
