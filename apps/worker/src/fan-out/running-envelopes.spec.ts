import { ThrottledLog } from '@relay/telemetry';
import type { StoreAgain } from '../log/pending-writes.js';
import { RunningEnvelopes } from './running-envelopes.js';

const at = { topic: 'task.created', partition: 0 };
const entry = { id: 'id', hash: 'hash' };
const say = (): void => undefined;

describe('running envelopes', () => {
  let envelopes: RunningEnvelopes;
  let told: string[];
  beforeEach(() => {
    envelopes = new RunningEnvelopes(new ThrottledLog({ warn: say, error: say, info: say, debug: say }));
    told = [];
  });
  const handleOf = (name: string): Parameters<RunningEnvelopes['start']>[3] => ({
    begun: () => undefined,
    added: () => void told.push(`${name}: added`),
    webhookSettled: () => undefined,
    park: (webhookId) => void told.push(`${name}: parks ${webhookId}`),
    markDuplicate: () => void told.push(`${name}: duplicate`),
    settled: (mark) => void told.push(`${name}: settled ${mark?.id}`),
  });

  it('start an envelope once and settle its repeats with it', () => {
    const running = envelopes.start(entry, at, 4, handleOf('first'));
    expect(running).toBeDefined();
    expect(envelopes.start(entry, at, 9, handleOf('repeat'))).toBeUndefined();
    expect(told).toEqual(['repeat: duplicate']);
    running?.settle();
    expect(told.slice(1)).toEqual(['first: settled id', 'repeat: settled id']);
    expect(envelopes.size).toBe(0);
    expect(envelopes.find(entry.id)).toBeUndefined();
    expect(envelopes.start(entry, at, 4, handleOf('again'))).toBeDefined();
  });

  it('store the jobs of an envelope again before it is settled when its own record was read again: Redis may have lost them', async () => {
    const stored: (() => void)[] = [];
    const add =
      (job: number): StoreAgain =>
      () => {
        told.push(`job ${job}`);
        return new Promise((resolve) => (stored[job] = resolve));
      };
    const running = envelopes.start(entry, at, 4, handleOf('old'));
    running?.added(add(0));
    running?.added(add(1));
    expect(told.splice(0)).toEqual(['old: added', 'old: added']);
    envelopes.start(entry, at, 4, handleOf('new'));
    running?.settle();
    expect(told).toEqual(['job 0', 'job 1']);
    stored[0]?.();
    await new Promise(setImmediate);
    expect(told.slice(2)).toEqual(['old: added', 'new: added']);
    stored[1]?.();
    await new Promise(setImmediate);
    expect(told.slice(4)).toEqual(['old: added', 'new: added', 'old: settled id', 'new: settled id']);
  });

  it('store nothing again for a repeat of the source, whose jobs may be done by then', () => {
    const running = envelopes.start(entry, at, 4, handleOf('first'));
    running?.added(async () => void told.push('job'));
    envelopes.start(entry, at, 5, handleOf('repeat'));
    running?.settle();
    expect(told).toEqual(['first: added', 'repeat: duplicate', 'first: settled id', 'repeat: settled id']);
    expect(envelopes.size).toBe(0);
  });

  it('park the webhooks again for which a record waits in the log when it is read again: Redis may have lost that', () => {
    envelopes.start(entry, at, 4, handleOf('old'))?.parked('w');
    expect(envelopes.start(entry, at, 4, handleOf('new'))).toBeUndefined();
    expect(told).toEqual(['new: parks w']);
  });
});
