import { FetchWatch } from './consumer-watch.js';

/** Looks every second from one second to another. */
function look(watch: FetchWatch, from: number, to: number, brokersAnswer = true): void {
  for (let second = from; second <= to; second += 1) watch.look(second * 1_000, brokersAnswer);
}

describe('FetchWatch', () => {
  let watch: FetchWatch;
  beforeEach(() => {
    watch = new FetchWatch();
    look(watch, 0, 1);
    watch.progressed(1_000);
  });

  it('reports a consumer that stands still for 30 s, is hopeless after 60 s, and recovers with the next fetch or heartbeat', () => {
    look(watch, 2, 30);
    expect(watch.fault).toBeUndefined();
    look(watch, 31, 31);
    expect([watch.fault, watch.isHopeless]).toEqual([expect.stringMatching(/no heartbeat answered for 30 s/), false]);
    look(watch, 32, 61);
    expect(watch.isHopeless).toBe(true);
    watch.progressed(61_500);
    look(watch, 62, 62);
    expect([watch.fault, watch.isHopeless]).toEqual([undefined, false]);
  });

  it('reports nothing while the brokers are away, and counts from their return', () => {
    look(watch, 2, 300, false);
    look(watch, 301, 329);
    expect(watch.fault).toBeUndefined();
    look(watch, 330, 330);
    expect(watch.fault).toBeDefined();
  });

  it('reports no batch that is handed out with heartbeats, however long, and reports a heartbeat without an answer', () => {
    for (let second = 2; second <= 300; second += 1) {
      watch.progressed(second * 1_000);
      look(watch, second, second);
    }
    expect(watch.fault).toBeUndefined();
    look(watch, 301, 330);
    expect(watch.fault).toBeDefined();
  });

  it('reports nothing when the process itself stood still', () => {
    look(watch, 500, 500);
    expect(watch.fault).toBeUndefined();
  });

  it('waits for a consumer that has not started', () => {
    const begun = new FetchWatch();
    look(begun, 0, 29);
    expect(begun.fault).toBeUndefined();
  });
});
