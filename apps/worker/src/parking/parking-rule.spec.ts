import type { WaitingCount } from '@relay/jobs';
import type { Webhook } from '@relay/webhooks';
import { ParkingRule } from './parking-rule.js';

const MIB = 1024 * 1024;
type Pair = readonly [deliveries: number, mib: number];
const waiting = ([deliveries, mib]: Pair): WaitingCount => ({ deliveries, bytes: mib * MIB });
const LIMITS = { perWebhook: 1_000, total: 100_000 };
const aRule = (own: Pair, ofPartner: Pair = own, isBarred = false, deliveries = ofPartner[0]): ParkingRule =>
  new ParkingRule(
    { of: () => waiting(own), ofPartner: () => waiting(ofPartner), deliveries },
    LIMITS,
    () => isBarred,
    () => undefined,
  );
const aWebhook = (status: Webhook['status'] = 'active') =>
  ({ id: 'w', partnerId: 'p', endpoint: 'p https://a', status }) as Webhook;

describe('a webhook', () => {
  it.each<[string, Pair, Pair, boolean]>([
    ['nothing waits for it', [0, 0], [50_000, 500], false],
    ['less than its limit waits', [999, 1], [999, 1], false],
    ['its limit waits', [1_000, 1], [1_000, 1], true],
    ['its partner has ten times the limit and it a hundredth of that', [100, 0], [10_000, 1], true],
    ['its partner has ten times the limit and it less', [99, 0], [10_000, 1], false],
    ['its partner has less than ten times the limit', [999, 0], [9_999, 1], false],
    ['its partner has 32 MiB and it a hundredth of that', [9, 0.33], [99, 32], true],
    ['its partner has 32 MiB and it less', [9, 0.3], [99, 32], false],
    ['its partner has less than 32 MiB', [99, 31], [99, 31.9], false],
  ])('is parked or not when %s: %j of %j: %p', (_, own, ofPartner, isDue) => {
    expect(aRule(own, ofPartner).isDue(aWebhook())).toBe(isDue);
  });

  it.each<[string, number, number, boolean, boolean]>([
    [
      'ten of half of what the queue holds at most wait for it, and its endpoint gets no attempts',
      10,
      50_000,
      true,
      true,
    ],
    ['fewer than ten wait for it', 9, 50_000, true, false],
    ['less waits in all', 10, 49_999, true, false],
    ['its endpoint gets attempts', 999, 50_000, false, false],
  ])('is parked or not when %s: %j of %j, %p: %p', (_, own, all, isBarred, isDue) => {
    expect(aRule([own, 0], [own, 0], isBarred, all).isDue(aWebhook())).toBe(isDue);
  });

  it('is parked with ten waiting deliveries if its partner is over its limit and its endpoint gets no attempts', () => {
    expect(aRule([10, 0], [10_000, 0], true, 10_000).isDue(aWebhook())).toBe(true);
    expect(aRule([9, 0], [10_000, 0], true, 10_000).isDue(aWebhook())).toBe(false);
    expect(aRule([10, 0], [9_999, 0], true, 10_000).isDue(aWebhook())).toBe(false);
  });

  it('is told to its partner when it is parked, unless it is disabled', () => {
    const rule = new ParkingRule(
      { of: () => waiting([1_000, 1]), ofPartner: () => waiting([1_000, 1]), deliveries: 1_000 },
      LIMITS,
      () => false,
      ({ id }, deliveries) => `${id} ${deliveries}`,
    );
    expect([rule.notice(aWebhook()), rule.notice(aWebhook('disabled'))]).toEqual(['w 1000', undefined]);
  });

  it('is parked and not caught up while it is disabled', () => {
    expect(aRule([0, 0]).isDue(aWebhook('disabled'))).toBe(true);
    expect(aRule([0, 0]).room(aWebhook('disabled'))).toBe(0);
  });

  it('is caught up to half its limit, and to ten deliveries while its endpoint gets no attempts or its partner has 16 MiB', () => {
    expect(aRule([0, 0]).room(aWebhook())).toBe(500);
    expect(aRule([0, 0], [0, 0], true).room(aWebhook())).toBe(10);
    expect(aRule([20, 16], [20, 16]).room(aWebhook())).toBe(10);
  });
});
