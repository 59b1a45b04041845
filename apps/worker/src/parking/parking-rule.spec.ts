import type { Webhook } from '@relay/webhooks';
import { ParkingRule } from './parking-rule.js';

const aRule = (waiting: number, ofPartner: number, isBarred = false): ParkingRule =>
  new ParkingRule({ of: () => waiting, ofPartner: () => ofPartner }, 1_000, () => isBarred);
const aWebhook = (status: Webhook['status'] = 'active') =>
  ({ id: 'w', partnerId: 'p', endpoint: 'p https://a', status }) as Webhook;

describe('a webhook', () => {
  it.each([
    ['nothing waits for it', 0, 50_000, false],
    ['less than its limit waits', 999, 999, false],
    ['its limit waits', 1_000, 1_000, true],
    ['its partner has ten times the limit and it a tenth of its own', 100, 10_000, true],
    ['its partner has ten times the limit and it less than a tenth', 99, 10_000, false],
    ['its partner has less than ten times the limit', 999, 9_999, false],
  ])('when %s is to be parked: %i, %i: %p', (_, waiting, ofPartner, isDue) => {
    expect(aRule(waiting, ofPartner).isDue(aWebhook())).toBe(isDue);
  });

  it('is parked and not caught up while it is disabled', () => {
    expect(aRule(0, 0).isDue(aWebhook('disabled'))).toBe(true);
    expect(aRule(0, 0).room(aWebhook('disabled'))).toBe(0);
  });

  it('is caught up while less than half its limit waits, and by ten for the probe while its endpoint gets no attempts', () => {
    expect(aRule(0, 0).room(aWebhook())).toBe(500);
    expect(aRule(0, 0, true).room(aWebhook())).toBe(10);
  });
});
