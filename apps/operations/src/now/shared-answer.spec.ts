import { SharedAnswer } from './shared-answer.js';

describe('a shared answer', () => {
  let now = 0;
  let asked = 0;
  beforeEach(() => {
    [now, asked] = [0, 0];
  });

  it('is asked for once for all who come within its time', async () => {
    const shared = new SharedAnswer(
      async () => (asked += 1),
      3_000,
      () => now,
    );
    expect(await Promise.all([shared.read(), shared.read()])).toEqual([1, 1]);
    now = 2_999;
    expect(await shared.read()).toBe(1);
    now = 3_000;
    expect(await Promise.all([shared.read(), shared.read()])).toEqual([2, 2]);
  });

  it('is asked for again after a failure', async () => {
    const ask = (): Promise<number> =>
      (asked += 1) === 1 ? Promise.reject(new Error('away')) : Promise.resolve(asked);
    const shared = new SharedAnswer(ask, 3_000, () => now);
    await expect(Promise.all([shared.read(), shared.read()])).rejects.toThrow('away');
    expect([await shared.read(), asked]).toEqual([2, 2]);
  });
});
