import type { Compaction } from '@relay/registry';
import { RegistryKeeper } from './registry-keeper.js';

const silent = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };

describe('RegistryKeeper', () => {
  let calls: string[];
  let now: number;
  let isDue: boolean;
  let outcome: Compaction;
  let keeper: RegistryKeeper;
  beforeEach(() => {
    [calls, now, isDue, outcome] = [[], 0, false, { kind: 'busy' }];
    const called =
      <T>(name: string, answer: () => T): (() => Promise<T>) =>
      async () => {
        calls.push(name);
        return answer();
      };
    keeper = new RegistryKeeper(
      { endStuckSnapshot: called('end', () => undefined) },
      { isDue: async () => isDue, compact: called('compact', () => outcome), free: called('free', () => true) },
      { REGISTRY_SNAPSHOT_AFTER: 10 },
      silent,
    );
  });

  it('makes a snapshot when one is due, and looks once an hour whether an older one let its records go', async () => {
    await keeper.look(now);
    now = 5_000;
    await keeper.look(now);
    expect(calls).toEqual(['end', 'free', 'end']);
    isDue = true;
    outcome = { kind: 'compacted', records: 1, begin: 1, freed: true };
    await keeper.look(now);
    isDue = false;
    now = 3_600_000;
    await keeper.look(now);
    expect(calls.slice(3)).toEqual(['end', 'compact', 'end', 'free']);
  });

  it('waits a minute after a snapshot that came to nothing, and ends those of others meanwhile', async () => {
    isDue = true;
    await keeper.look(now);
    now = 59_999;
    await keeper.look(now);
    expect(calls).toEqual(['end', 'compact', 'end']);
    now = 60_000;
    await keeper.look(now);
    expect(calls.slice(3)).toEqual(['end', 'compact']);
  });
});
