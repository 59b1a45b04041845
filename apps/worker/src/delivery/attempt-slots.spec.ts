import type { EventLoopUtilization } from 'node:perf_hooks';
import { LoopLoad } from './attempt-slots.js';

const EVERY_MS = 50;

/** A process whose event loop is in use for `share` of the time, and whose beats come `lateMs` late. */
function aProcess() {
  let [at, active] = [0, 0];
  const loopTime = (since: EventLoopUtilization = { active: 0, idle: 0, utilization: 0 }): EventLoopUtilization => {
    const [used, all] = [active - since.active, at - since.active - since.idle];
    return { active: used, idle: all - used, utilization: all === 0 ? 0 : used / all };
  };
  const load = new LoopLoad(loopTime, () => at);
  load.begin();
  const beat = (share: number, lateMs = 0): boolean => {
    at += EVERY_MS + lateMs;
    active += share * (EVERY_MS + lateMs);
    load.beat(EVERY_MS);
    return load.isBusy;
  };
  return {
    load,
    beats: (count: number, share: number, lateMs = 0) => Array.from({ length: count }, () => beat(share, lateMs)),
  };
}

describe('the load of the event loop', () => {
  it.each([
    ['idle', 0, 0, false],
    ['in use for most of its time', 0.85, 9, false],
    ['in use for all of its time', 1, 0, true],
    ['idle, but late because others have the cores', 0.1, 12, true],
  ])('knows a worker that is %s', (_, share, lateMs, expected) => {
    expect(aProcess().beats(10, share, lateMs).at(-1)).toBe(expected);
  });

  it('is neither raised by one beat nor kept by many', () => {
    const { beats } = aProcess();
    expect([beats(1, 1), beats(4, 1).at(-1), beats(1, 0)]).toEqual([[false], true, [false]]);
  });

  it('counts no time between the end of the beats and their next begin', () => {
    let at = 0;
    const load = new LoopLoad(undefined, () => at);
    load.begin();
    at = 60_000;
    load.begin();
    at += EVERY_MS;
    load.beat(EVERY_MS);
    expect(load.isBusy).toBe(false);
  });
});
