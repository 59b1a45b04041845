import { CatchUpThrottle } from './catch-up-pass.js';

/** An event loop of which somebody else uses a part of the time that passes, and a clock for its rests. */
class Loop {
  active = 0;
  idle = 0;
  readonly rests: number[] = [];

  constructor(private readonly usedByOthers: number) {}

  readonly time = (since?: { active: number; idle: number }) => {
    const [active, idle] = [this.active - (since?.active ?? 0), this.idle - (since?.idle ?? 0)];
    return { active, idle, utilization: active / (active + idle) };
  };

  readonly rest = async (ms: number): Promise<void> => {
    this.rests.push(ms);
    this.active += ms * this.usedByOthers;
    this.idle += ms * (1 - this.usedByOthers);
  };

  get restedMs(): number {
    return this.rests.reduce((sum, ms) => sum + ms, 0);
  }
}

const shared = (): boolean => true;

/** Hands out so many deliveries, each of which keeps the loop busy for so long. */
async function handOut(throttle: CatchUpThrottle, loop: Loop, deliveries: number, eachMs: number): Promise<void> {
  for (let given = 0; given < deliveries; given += 1) {
    await throttle.next();
    loop.active += eachMs;
  }
}

describe('the throttle of catch-ups', () => {
  it('uses three tenths of the time of an otherwise idle loop', async () => {
    const loop = new Loop(0);
    await handOut(new CatchUpThrottle(shared, loop.time, loop.rest), loop, 601, 2);
    expect(loop.active / (loop.active + loop.idle)).toBeCloseTo(0.3, 2);
  });

  it('uses four fifths without live deliveries, and less as soon as there are some', async () => {
    const loop = new Loop(0);
    let isShared = false;
    const throttle = new CatchUpThrottle(() => isShared, loop.time, loop.rest);
    await handOut(throttle, loop, 421, 2);
    expect(loop.active / (loop.active + loop.idle)).toBeCloseTo(0.8, 2);
    expect(loop.rests).toHaveLength(14); // one after four, then one after each 32
    isShared = true;
    await handOut(throttle, loop, 32, 2); // what was left of the burst, and one
    const idleAlone = loop.idle;
    await handOut(throttle, loop, 400, 2);
    expect(800 / (800 + loop.idle - idleAlone)).toBeCloseTo(0.3, 2);
  });

  it('leaves seven tenths of the time to others and idle', async () => {
    const loop = new Loop(0.15);
    await handOut(new CatchUpThrottle(shared, loop.time, loop.rest), loop, 801, 1);
    const share = loop.active / (loop.active + loop.idle);
    expect(share).toBeGreaterThan(0.27);
    expect(share).toBeLessThanOrEqual(0.31);
  });

  it('holds nothing up while the loop has been idle', async () => {
    const loop = new Loop(0);
    const throttle = new CatchUpThrottle(shared, loop.time, loop.rest);
    for (let burst = 0; burst < 10; burst += 1) {
      loop.idle += 1_000;
      await handOut(throttle, loop, 4, 1);
    }
    expect(loop.rests).toEqual([]);
  });

  it('lets four deliveries through after 40 ms even when others use up the loop', async () => {
    const loop = new Loop(1);
    await handOut(new CatchUpThrottle(shared, loop.time, loop.rest), loop, 81, 1);
    expect(loop.restedMs).toBe(800);
  });

  it('is one for all passes of a worker', async () => {
    const loop = new Loop(0);
    const throttle = new CatchUpThrottle(shared, loop.time, loop.rest);
    await Promise.all([1, 2, 3, 4].map(() => handOut(throttle, loop, 200, 1)));
    expect(loop.restedMs).toBeGreaterThanOrEqual(1_980);
    expect(loop.restedMs).toBeLessThanOrEqual(2_000);
  });

  it('lets passes begin one after the other and run side by side, and goes on after one that fails', async () => {
    const loop = new Loop(0);
    const throttle = new CatchUpThrottle(shared, loop.time, loop.rest);
    const running: string[] = [];
    let ends = (): void => undefined;
    let tells = (): void => undefined;
    const first = throttle.pass(async (begun) => {
      running.push('first');
      tells = begun;
      await new Promise<void>((resolve) => (ends = resolve));
    });
    const failing = throttle.pass(async () => {
      running.push('failing');
      throw new Error('no broker');
    });
    const last = throttle.pass(async () => void running.push('last'));
    await new Promise(setImmediate);
    expect(running).toEqual(['first']);
    tells();
    await expect(failing).rejects.toThrow('no broker');
    await last;
    expect(running).toEqual(['first', 'failing', 'last']);
    expect(loop.rests).toEqual([100, 100, 100]);
    ends();
    await first;
  });
});
