import { ReplayOrder } from './replays.controller.js';

describe('an order of a replay', () => {
  const webhook = '3f2b1c0d-9e8f-4a7b-8c6d-5e4f3a2b1c0d';
  const [earlier, later] = ['2030-01-01T00:00:00Z', '2030-01-02T00:00:00Z'];
  it.each([
    [{ webhook, since: earlier, until: later }, undefined],
    [{ webhook, since: later, until: earlier }, 'until'],
    [{ webhook, since: later, until: later }, 'until'],
    [{ webhooks: [webhook, webhook] }, undefined],
    [{ webhooks: [webhook], since: later, until: earlier }, 'until'],
    [{ since: earlier }, 'webhook'],
    [{ webhook, webhooks: [webhook] }, 'webhook'],
    [{ webhooks: [] }, 'webhooks'],
    [{ webhooks: [webhook, 'x'] }, 'webhooks/1'],
    [{ webhooks: Array.from({ length: 1_001 }, () => webhook) }, 'webhooks'],
    [{ webhook, unknown: 1 }, ''],
  ])('%j is at fault in %s', (order, member) => {
    const read = ReplayOrder.safeParse(order);
    expect(read.success ? undefined : read.error.issues[0]?.path.join('/')).toBe(member);
  });
});
