import { examplePayload, readRecord, type NoticeFacts } from '@relay/events';
import { type OutgoingRecord, PublishFailed } from '@relay/publishing';
import { HOUR_MS, noticeId } from './notice-id.js';
import { Notices } from './notices.js';

const webhook = {
  id: '7c2d4e6f-1a3b-4c5d-8e9f-0a1b2c3d4e5f',
  partnerId: 'partner_a',
  eventType: 'task.created',
  origin: 'https://a.example',
};
const NOON = 12 * HOUR_MS;
const gone = { reason: 'gone' };

describe('the id of a notice', () => {
  it('is the same for one kind, webhook and hour, and another for any other', () => {
    const id = noticeId('webhook.parked', 'w', NOON);
    expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    expect(noticeId('webhook.parked', 'w', NOON + HOUR_MS - 1)).toBe(id);
    const others = [
      noticeId('webhook.parked', 'w', NOON + HOUR_MS),
      noticeId('webhook.parked', 'v', NOON),
      noticeId('webhook.failing', 'w', NOON),
    ];
    expect(new Set([id, ...others]).size).toBe(4);
  });
});

describe('a notice', () => {
  let published: OutgoingRecord[];
  let failures: unknown[];
  let lines: unknown[];
  let now: number;
  let notices: Notices;
  beforeEach(() => {
    [published, failures, lines, now] = [[], [], [], NOON];
    const publish = async (record: OutgoingRecord): Promise<number> => {
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      return published.push(record);
    };
    const warn = (event: string, _message: string, fields?: object): void => void lines.push({ event, ...fields });
    notices = new Notices({ publish }, 'x.', { warn }, () => now, 1);
  });

  it('is an envelope of the relay that only the partner of its webhook and operators get', async () => {
    await notices.tell('webhook.disabled', webhook, gone);
    const { topic, key, value, headers } = published[0] as OutgoingRecord;
    const read = readRecord({ offset: 0, key: Buffer.from(key), value, headers, timestamp: 1 }, topic, 'x.');
    expect(read).toMatchObject({
      kind: 'envelope',
      envelope: {
        id: noticeId('webhook.disabled', webhook.id, NOON),
        type: 'webhook.disabled',
        audience: ['operators', 'partner_a'],
      },
      acceptedAt: NOON,
    });
    expect([topic, key]).toEqual(['x.relay.notices', webhook.id]);
    expect(JSON.parse(value.toString())).toMatchObject({
      payload: {
        id: webhook.id,
        partnerId: 'partner_a',
        eventType: 'task.created',
        origin: 'https://a.example',
        at: new Date(NOON).toISOString(),
        message: expect.stringContaining('its endpoint answered 410'),
        reason: 'gone',
      },
    });
  });

  it('is told once an hour, whatever else happens to the webhook', async () => {
    await notices.tell('webhook.disabled', webhook, gone);
    await notices.tell('webhook.disabled', webhook, { reason: 'partner' });
    expect(published).toHaveLength(1);
    await notices.tell('webhook.enabled', webhook, { disabledReason: 'gone' });
    now += HOUR_MS;
    await notices.tell('webhook.disabled', webhook, gone);
    expect(published).toHaveLength(3);
  });

  it('is never about a webhook of notices', async () => {
    await notices.tell('webhook.disabled', { ...webhook, eventType: 'webhook.disabled' }, gone);
    expect(published).toEqual([]);
  });

  it('has the time of what it is about, where several processes find it', async () => {
    const { replayId, state, matched, done, failed } = examplePayload(
      'replay.finished',
    ) as NoticeFacts<'replay.finished'>;
    await notices.tell('replay.finished', webhook, { replayId, state, matched, done, failed }, NOON - 1);
    expect(JSON.parse(String(published[0]?.value))).toMatchObject({
      id: noticeId('replay.finished', webhook.id, NOON - 1),
      payload: { at: new Date(NOON - 1).toISOString(), done },
    });
  });

  it('is sent again while Kafka is away, and not told in vain once it is too late', async () => {
    const away = new PublishFailed('unavailable', 'no broker');
    failures = [away, away, away];
    await notices.tell('webhook.disabled', webhook, gone);
    expect([published.length, lines]).toEqual([1, []]);
    failures = [away, away, away, away];
    await notices.tell('webhook.parked', webhook, { waiting: 3 });
    const lost = { event: 'notice.lost', type: 'webhook.parked', webhookId: webhook.id, partnerId: 'partner_a' };
    expect([published.length, lines]).toEqual([1, [{ ...lost, reason: expect.stringContaining('no broker') }]]);
    await notices.tell('webhook.parked', webhook, { waiting: 3 });
    expect(published).toHaveLength(2);
  });

  it('that a broker refuses, or that is none, is lost at once and said', async () => {
    failures = [new PublishFailed('refused', 'too large')];
    await notices.tell('webhook.disabled', webhook, gone);
    await notices.tell('webhook.parked', { ...webhook, id: 'no uuid' }, { waiting: 3 });
    expect(published).toEqual([]);
    expect(lines).toMatchObject([
      { event: 'notice.lost' },
      { event: 'notice.lost', reason: expect.stringMatching(/id/) },
    ]);
  });

  it('beyond a thousand that wait for Kafka is lost and said', async () => {
    const hanging = new Promise<never>(() => undefined);
    const full = new Notices({ publish: () => hanging }, '', { warn: (event) => void lines.push(event) });
    for (let n = 0; n < 1_000; n += 1)
      void full.tell(
        'webhook.parked',
        { ...webhook, id: `7c2d4e6f-1a3b-4c5d-8e9f-${String(n).padStart(12, '0')}` },
        { waiting: 1 },
      );
    await full.tell('webhook.disabled', webhook, gone);
    expect(lines).toEqual(['notice.lost']);
  });
});
