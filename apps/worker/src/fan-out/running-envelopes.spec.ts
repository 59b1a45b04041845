import type { StoreAgain, RecordHandle } from '../log/log-chunk.js';
import { RunningEnvelopes } from './running-envelopes.js';

const at = { topic: 'task.created', partition: 0 };
const entry = { id: 'id', hash: 'hash' };

describe('running envelopes', () => {
  let envelopes: RunningEnvelopes;
  let told: string[];
  beforeEach(() => {
    envelopes = new RunningEnvelopes((add) => add());
    told = [];
  });
  const ticketOf = (name: string): RecordHandle => ({
    added: () => void told.push(`${name}: added`),
    partially: () => undefined,
    marked: () => undefined,
    isParked: () => false,
    park: (webhookId) => void told.push(`${name}: parks ${webhookId}`),
    dropped: () => void told.push(`${name}: dropped`),
    settled: (mark) => void told.push(`${name}: settled ${mark?.id}`),
  });

  it('starts an envelope once and settles its repeats with it', () => {
    expect(envelopes.start(entry, at, 4, ticketOf('first'))).toBe('new');
    expect(envelopes.start(entry, at, 9, ticketOf('repeat'))).toBe('repeat');
    expect(told).toEqual(['repeat: dropped']);
    expect(envelopes.settle(entry)).toBe(true);
    expect(told.slice(1)).toEqual(['first: settled id', 'repeat: settled id']);
    expect(envelopes.size).toBe(0);
    expect(envelopes.settle(entry)).toBe(false);
    expect(envelopes.start(entry, at, 4, ticketOf('again'))).toBe('new');
  });

  it('takes another content of the same id for another envelope', () => {
    expect(envelopes.start(entry, at, 4, ticketOf('one'))).toBe('new');
    expect(envelopes.start({ id: 'id', hash: 'other' }, at, 5, ticketOf('other'))).toBe('new');
  });

  it('adds the jobs of an envelope whose own record was read again once more before it is settled: Redis may have lost them', async () => {
    const stored: (() => void)[] = [];
    const add =
      (job: number): StoreAgain =>
      () => {
        told.push(`job ${job}`);
        return new Promise((resolve) => (stored[job] = resolve));
      };
    envelopes.start(entry, at, 4, ticketOf('old'));
    envelopes.added(entry, add(0));
    envelopes.added(entry, add(1));
    envelopes.start(entry, at, 4, ticketOf('new'));
    envelopes.settle(entry);
    expect(told).toEqual(['job 0', 'job 1']);
    stored[0]?.();
    await new Promise(setImmediate);
    expect(told.slice(2)).toEqual(['old: added', 'new: added']);
    stored[1]?.();
    await new Promise(setImmediate);
    expect(told.slice(4)).toEqual(['old: added', 'new: added', 'old: settled id', 'new: settled id']);
  });

  it('adds nothing twice for a repeat of the source, whose jobs may be done by then', () => {
    envelopes.start(entry, at, 4, ticketOf('first'));
    envelopes.added(entry, async () => void told.push('job'));
    envelopes.start(entry, at, 5, ticketOf('repeat'));
    envelopes.settle(entry);
    expect(told).toEqual(['repeat: dropped', 'first: settled id', 'repeat: settled id']);
    expect(envelopes.size).toBe(0);
  });

  it('parks the webhooks once more for which a record waits in the log when it is read again: Redis may have lost that', () => {
    envelopes.start(entry, at, 4, ticketOf('old'));
    envelopes.parked(entry, 'w');
    expect(envelopes.start(entry, at, 4, ticketOf('new'))).toBe('again');
    expect(told).toEqual(['new: parks w']);
  });
});
