import type { WaitingCount } from '@relay/jobs';
import { ThrottledLog } from '@relay/telemetry';
import type { Webhook } from '@relay/webhooks';
import { WaitingCounts } from './parking-rule.js';

describe('the queued deliveries of webhooks', () => {
  let stored: Map<string, WaitingCount> | Error;
  let lines: string[];
  let counts: WaitingCounts;
  beforeEach(() => {
    stored = new Map([
      ['a', { deliveries: 2, bytes: 20 }],
      ['b', { deliveries: 3, bytes: 5 }],
      ['unknown', { deliveries: 1, bytes: 1 }],
    ]);
    lines = [];
    const jobs = {
      counts: async () => {
        if (stored instanceof Error) throw stored;
        return new Map(stored);
      },
    };
    const say = (event: string): void => void lines.push(event);
    const log = new ThrottledLog({ warn: say, error: say, info: say, debug: say });
    counts = new WaitingCounts(
      jobs,
      { find: (id) => (id === 'unknown' ? undefined : ({ partnerId: 'p' } as Webhook)) },
      log,
    );
  });

  it('are summed by partner, and counted on between two looks', async () => {
    expect([counts.of('a'), counts.ofPartner('p')]).toEqual([
      { deliveries: 0, bytes: 0 },
      { deliveries: 0, bytes: 0 },
    ]);
    await counts.read();
    counts.added('a', 7);
    expect(counts.of('a')).toEqual({ deliveries: 3, bytes: 27 });
    expect(counts.ofPartner('p')).toEqual({ deliveries: 5, bytes: 25 });
    await counts.read();
    expect(counts.of('a')).toEqual({ deliveries: 2, bytes: 20 });
  });

  it('keep their last count while Redis is away, which is logged', async () => {
    await counts.read();
    stored = new Error('away');
    await counts.read();
    expect(counts.of('b')).toEqual({ deliveries: 3, bytes: 5 });
    expect(lines).toEqual(['parking.uncounted']);
  });
});
