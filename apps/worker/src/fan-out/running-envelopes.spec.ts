import { RunningEnvelopes } from './running-envelopes.js';

const at = { topic: 'task.created', partition: 0 };
const entry = { id: 'id', hash: 'hash' };

describe('running envelopes', () => {
  const running = (): RunningEnvelopes => new RunningEnvelopes((add) => add());

  it('starts an envelope once and settles its repeats with it', () => {
    const envelopes = running();
    const settled: string[] = [];
    expect(envelopes.start(entry, at, 4, () => settled.push('first'))).toBe(true);
    expect(envelopes.start(entry, at, 9, () => settled.push('repeat'))).toBe(false);
    expect(settled).toEqual([]);
    envelopes.settle(entry);
    expect(settled).toEqual(['first', 'repeat']);
    expect(envelopes.size).toBe(0);
    expect(envelopes.start(entry, at, 4, () => undefined)).toBe(true);
  });

  it('takes another content of the same id for another envelope', () => {
    const envelopes = running();
    expect(envelopes.start(entry, at, 4, () => undefined)).toBe(true);
    expect(envelopes.start({ id: 'id', hash: 'other' }, at, 5, () => undefined)).toBe(true);
  });

  it('adds the jobs of an envelope whose own record was read again once more before it is settled: Redis may have lost them', async () => {
    const envelopes = running();
    const seen: string[] = [];
    let stored = (): void => undefined;
    const isStored = new Promise<void>((resolve) => (stored = resolve));
    const add = async (): Promise<void> => {
      seen.push('added again');
      await isStored;
    };
    envelopes.start(entry, at, 4, () => seen.push('before it went back'));
    envelopes.added(entry, add);
    let repeat: (() => Promise<void>) | undefined;
    envelopes.start(entry, at, 4, (again) => {
      seen.push('after it went back');
      repeat = again;
    });
    envelopes.settle(entry);
    expect(seen).toEqual(['added again']);
    stored();
    await new Promise(setImmediate);
    expect(seen).toEqual(['added again', 'before it went back', 'after it went back']);
    await repeat?.();
    expect(seen.at(-1)).toBe('added again');
  });

  it('adds nothing twice for a repeat of the source, whose jobs may be done by then', () => {
    const envelopes = running();
    let added = 0;
    envelopes.start(entry, at, 4, () => undefined);
    envelopes.added(entry, async () => void (added += 1));
    envelopes.start(entry, at, 5, (repeat) => expect(repeat).toBeUndefined());
    envelopes.settle(entry);
    expect(added).toBe(0);
    expect(envelopes.size).toBe(0);
  });
});
