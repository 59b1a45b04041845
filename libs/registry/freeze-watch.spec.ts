import { FreezeWatch } from './registry-applier.adapter.js';

describe('FreezeWatch', () => {
  it('takes a snapshot for dead that came no further for 10 s, and no other', () => {
    const watch = new FreezeWatch();
    expect(watch.look(undefined, 0)).toBe('none');
    expect(watch.look({ snapshot: 'a', next: 0 }, 1_000)).toBe('moving');
    expect(watch.look({ snapshot: 'a', next: 1 }, 10_900)).toBe('moving');
    expect(watch.look({ snapshot: 'a', next: 1 }, 20_899)).toBe('moving');
    expect(watch.look({ snapshot: 'a', next: 1 }, 20_900)).toBe('stuck');
    expect(watch.look({ snapshot: 'b', next: 1 }, 20_901)).toBe('moving');
    expect(watch.look(undefined, 50_000)).toBe('none');
    expect(watch.look({ snapshot: 'b', next: 1 }, 60_000)).toBe('moving');
  });
});
