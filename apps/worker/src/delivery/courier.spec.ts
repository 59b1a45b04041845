import { fairLimits } from '@relay/delivery';
import type { EnvelopeRecord } from '@relay/events';
import { ThrottledLog } from '@relay/telemetry';
import { MemoryRetryQueue, MemoryState } from '@relay/testing';
import type { Webhook } from '@relay/webhooks';
import type { Attempted } from './attempts.js';
import { Courier } from './courier.js';

const say = (): void => undefined;
const webhook = { id: 'w1', partnerId: 'p', endpoint: 'p https://a' } as Webhook;
const record = {
  acceptedAt: 0,
  envelope: { id: 'e1', type: 'task.created', contentHash: 'h', bytes: Buffer.from('{}') },
} as EnvelopeRecord;
const DELIVERED: Attempted = {
  disposition: { kind: 'delivered' },
  durationMs: 1,
  failure: undefined,
  failed: false,
  notBefore: undefined,
};

/** With room for one delivery; each attempt ends when told. */
function aCourier() {
  const attempts: (() => void)[] = [];
  const make = (): Promise<Attempted> => new Promise((resolve) => attempts.push(() => resolve(DELIVERED)));
  const log = new ThrottledLog({ warn: say, error: say, info: say, debug: say });
  const queue = new MemoryRetryQueue(new MemoryState());
  const courier = new Courier(fairLimits(8, 8), { load: 1, waiting: 1 }, { make }, queue, log);
  return { courier, attempts };
}

describe('who waits for room', () => {
  it('is told of it one after the other, as long as something runs whose end wakes the next', async () => {
    const { courier, attempts } = aCourier();
    courier.dispatch({ webhook, record, settled: say });
    const woken: number[] = [];
    const waits = async (n: number): Promise<void> => {
      await courier.room();
      woken.push(n);
      courier.dispatch({ webhook, record, settled: say });
    };
    for (const n of [1, 2]) void waits(n);
    attempts.shift()?.();
    await new Promise(setImmediate);
    expect(woken.length).toBeGreaterThan(0);
    while (attempts.length > 0) {
      attempts.shift()?.();
      await new Promise(setImmediate);
    }
    expect(woken).toEqual([1, 2]);
  });

  it('is told of it all at once when nothing runs: who is told may dispatch nothing', async () => {
    const { courier, attempts } = aCourier();
    courier.dispatch({ webhook, record, settled: say });
    const rooms = Promise.all([courier.room(), courier.room(), courier.room()]);
    attempts.shift()?.();
    await rooms;
    expect(courier.room()).toBeUndefined();
  });
});
