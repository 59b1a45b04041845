import { ThrottledLog } from '@relay/telemetry';
import type { ChangeResult, Webhook } from '@relay/webhooks';
import type { Failing } from './failing-webhooks.adapter.js';
import { FAILING_MS, WebhookEvents, WebhookHealth } from './webhook-health.js';

const NOW = 1_900_000_000_000;
const webhook = { id: 'w', partnerId: 'p', version: 7, status: 'active' } as Webhook;
const settled = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

describe('the health of webhooks', () => {
  let stored: Map<string, Failing>;
  let disabled: unknown[];
  let told: object[];
  let noticed: string[];
  let lines: string[];
  let result: ChangeResult;
  let found: Webhook | undefined;
  let health: WebhookHealth;
  beforeEach(() => {
    stored = new Map();
    [disabled, told, noticed, lines] = [[], [], [], []];
    result = { kind: 'updated', id: 'w', version: 8 };
    found = webhook;
    const failing = {
      all: async () => new Map(stored),
      begin: async (id: string, since: number, version: number, isAnew: boolean) =>
        void stored.set(id, (isAnew ? undefined : stored.get(id)) ?? { since, warned: 0, version }),
      warned: async (id: string, percent: number, notice: string | undefined) => {
        const { warned = 0, ...rest } = stored.get(id) ?? { since: 0, version: 7 };
        if (warned >= percent) return false;
        noticed.push(`stored ${notice}`);
        stored.set(id, { ...rest, warned: percent });
        return true;
      },
      end: async (id: string) => void stored.delete(id),
    };
    const disable = async (...given: unknown[]): Promise<ChangeResult> => {
      disabled.push(given);
      return result;
    };
    const notices = {
      line: (type: string, { id }: { id: string }) => `${type} ${id}`,
      publish: async () => void noticed.push('published'),
    };
    const operations = { report: (_key: string, record: object) => void told.push(record) };
    const say = (event: string): void => void lines.push(event);
    const log = new ThrottledLog({ warn: say, error: say, info: say, debug: say });
    health = new WebhookHealth(
      failing,
      { disable },
      { find: () => found },
      new WebhookEvents(operations, notices),
      log,
    );
  });
  const failedFor = async (share: number, warned = 0): Promise<void> => {
    stored.set('w', { since: NOW - FAILING_MS * share, warned, version: 7 });
    await health.read(NOW - FAILING_MS);
    health.attempted(webhook, 'failed', NOW);
    await settled();
  };

  it('are disabled at once by 410, once however many attempts get it', async () => {
    for (let n = 0; n < 20; n += 1) health.attempted(webhook, 'gone', NOW);
    await settled();
    expect(disabled).toEqual([['p', 'w', 'gone', [7]]]);
    expect(told).toEqual([
      { at: expect.any(String), event: 'webhook.disabled', webhookId: 'w', partnerId: 'p', reason: 'gone' },
    ]);
    expect(noticed).toEqual(['published']);
    expect(lines).toEqual(['webhook.disabled']);
  });

  it('are left as they are when they were changed since the attempt', async () => {
    result = { kind: 'stale' };
    health.attempted(webhook, 'gone', NOW);
    await settled();
    expect([told, lines]).toEqual([[], []]);
  });

  it('get five days again when they were changed or enabled since they began to fail', async () => {
    stored.set('w', { since: NOW - FAILING_MS * 1.2, warned: 90, version: 6 });
    await health.read(NOW - FAILING_MS);
    health.attempted(webhook, 'failed', NOW);
    await settled();
    expect([disabled, stored]).toEqual([[], new Map([['w', { since: NOW, warned: 0, version: 7 }]])]);
    health.attempted({ ...webhook, version: 6 }, 'failed', NOW + FAILING_MS); // of what it was before
    await settled();
    expect(disabled).toEqual([]);
    health.attempted(webhook, 'failed', NOW + FAILING_MS);
    await settled();
    expect(disabled).toEqual([['p', 'w', 'failing', [7]]]);
  });

  it('begin to fail with the first failure, and end with the first success', async () => {
    health.attempted(webhook, 'delivered', NOW);
    health.attempted(webhook, 'failed', NOW + 1);
    health.attempted(webhook, 'failed', NOW + 2);
    await settled();
    expect(stored).toEqual(new Map([['w', { since: NOW + 1, warned: 0, version: 7 }]]));
    health.attempted(webhook, 'delivered', NOW + 3);
    await settled();
    expect(stored).toEqual(new Map());
  });

  it.each([
    [0.49, []],
    [0.5, [50]],
    [0.7, [70]],
    [0.95, [90]],
  ])('that fail for %p of five days are warned of: %p', async (share, percents) => {
    await failedFor(share);
    health.attempted(webhook, 'failed', NOW);
    await settled();
    expect(told).toEqual(percents.map((percent) => expect.objectContaining({ event: 'webhook.failing', percent })));
    expect(noticed).toEqual(percents.flatMap(() => ['stored webhook.failing w', 'published']));
    expect(disabled).toEqual([]);
  });

  it('are warned of once, by whichever worker', async () => {
    await failedFor(0.6, 50);
    expect(told).toEqual([]);
    await failedFor(0.75, 50);
    expect(told).toEqual([expect.objectContaining({ percent: 70 })]);
  });

  it('are warned of while they get no deliveries, once for each share, and not when they were changed since', async () => {
    const since = NOW - FAILING_MS * 0.4;
    stored.set('w', { since, warned: 0, version: 7 });
    const shares = [0.49, 0.5, 0.51, 0.72, 0.9, 1.5];
    for (const share of shares) {
      await health.read(since + FAILING_MS * share);
      await settled();
    }
    expect(told).toEqual([50, 70, 90].map((percent) => expect.objectContaining({ percent })));
    for (const changed of [undefined, { ...webhook, version: 8 }, { ...webhook, status: 'disabled' as const }]) {
      stored.set('w', { since, warned: 0, version: 7 });
      found = changed;
      await health.read(NOW + FAILING_MS);
      await settled();
    }
    expect([told.length, disabled]).toEqual([3, []]);
  });

  it('are warned of by one worker when two notice at once', async () => {
    stored.set('w', { since: NOW - FAILING_MS * 0.6, warned: 0, version: 7 });
    await health.read(NOW - FAILING_MS);
    stored.set('w', { since: NOW - FAILING_MS * 0.6, warned: 50, version: 7 }); // by the other, meanwhile
    health.attempted(webhook, 'failed', NOW);
    await settled();
    expect(told).toEqual([]);
  });

  it('are disabled after five days of only failures, and begin anew then', async () => {
    await failedFor(1);
    expect(disabled).toEqual([['p', 'w', 'failing', [7]]]);
    expect(told).toEqual([expect.objectContaining({ event: 'webhook.disabled', reason: 'failing' })]);
    expect(stored).toEqual(new Map());
  });
});
