import { RunningEnvelopes } from './running-envelopes.js';

describe('running envelopes', () => {
  it('starts an envelope once and settles its repeats with it', () => {
    const running = new RunningEnvelopes();
    const settled: string[] = [];
    expect(running.start('id', 'hash', () => settled.push('first'))).toBe(true);
    expect(running.start('id', 'hash', () => settled.push('repeat'))).toBe(false);
    expect(settled).toEqual([]);
    running.settle('id', 'hash');
    expect(settled).toEqual(['first', 'repeat']);
    expect(running.size).toBe(0);
    expect(running.start('id', 'hash', () => undefined)).toBe(true);
  });

  it('takes another content of the same id for another envelope', () => {
    const running = new RunningEnvelopes();
    expect(running.start('id', 'one', () => undefined)).toBe(true);
    expect(running.start('id', 'two', () => undefined)).toBe(true);
  });
});
