import { setTimeout as delay } from 'node:timers/promises';
import { AnswersInTime, SharedAnswer } from './now-state.adapter.js';

describe('answers in time', () => {
  const told: unknown[][] = [];
  const log = {
    info: (...line: unknown[]) => void told.push(['info', ...line]),
    warn: (...line: unknown[]) => void told.push(['warn', ...line]),
  };
  beforeEach(() => told.splice(0));
  const refuse = (): Promise<never> => Promise.reject(new Error('no broker'));

  it('are told as missing once for each store, with the reason, until there is one again', async () => {
    const answers = new AnswersInTime(log, 10_000);
    for (let time = 0; time < 3; time += 1) expect(await answers.orAway('lag', refuse)).toBeUndefined();
    expect(await answers.orAway('queues', async () => 4)).toBe(4);
    expect(await answers.orAway('queues', refuse)).toBeUndefined();
    expect(await answers.orAway('lag', async () => 7)).toBe(7);
    expect(await answers.orAway('lag', async () => 8)).toBe(8);
    expect(await answers.orAway('lag', refuse)).toBeUndefined();
    const warning = (figures: string) => [
      'warn',
      'now.incomplete',
      expect.any(String),
      { figures, reason: expect.stringContaining('no broker') },
    ];
    const again = ['info', 'now.complete', expect.any(String), { figures: 'lag' }];
    expect(told).toEqual([warning('lag'), warning('queues'), again, warning('lag')]);
  });

  it('are given up when the time is over', async () => {
    const answers = new AnswersInTime(log, 20);
    expect(await answers.orAway('lag', () => delay(60_000, 1, { ref: false }))).toBeUndefined();
    expect(told[0]?.[3]).toEqual({ figures: 'lag', reason: expect.stringContaining('no answer in 20 ms') });
  });
});

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
