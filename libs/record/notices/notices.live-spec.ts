import { setTimeout as delay } from 'node:timers/promises';
import { examplePayload, readRecord, type NoticeFacts } from '@relay/events';
import { type OutgoingRecord, PublishFailed } from '@relay/publishing';
import { NOTICE_LINES, noticeClaimsOf, NOTICES, shardsOn } from '@relay/redis';
import { redisOfSpec } from '@relay/testing';
import { HOUR_MS, noticeId, NoticeLines } from './notice-lines.adapter.js';
import { Notices } from './notices.js';

const { redis } = await redisOfSpec();

const webhook = {
  id: '7c2d4e6f-1a3b-4c5d-8e9f-0a1b2c3d4e5f',
  partnerId: 'partner_a',
  eventType: 'task.created',
  origin: 'https://a.example',
};
/** The beginning of an hour; facts of another day leave no line. */
const HOUR = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
const gone = { reason: 'gone' };
const away = new PublishFailed('unavailable', 'no broker');

describe('the id of a notice', () => {
  it('is the same for one kind, webhook and hour, and another for any other', () => {
    const id = noticeId('webhook.parked', 'w', HOUR);
    expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    expect(noticeId('webhook.parked', 'w', HOUR + HOUR_MS - 1)).toBe(id);
    const others = [
      noticeId('webhook.parked', 'w', HOUR + HOUR_MS),
      noticeId('webhook.parked', 'v', HOUR),
      noticeId('webhook.failing', 'w', HOUR),
    ];
    expect(new Set([id, ...others]).size).toBe(4);
  });
});

describe('a notice', () => {
  let published: OutgoingRecord[];
  let failures: unknown[];
  let logged: { event: string; reason?: string; dropped?: number }[];
  let now: number;
  let notices: Notices;
  const lines = new NoticeLines(redis);
  const open = (publish: (record: OutgoingRecord) => Promise<number>): Notices => {
    const warn = (event: string, _message: string, fields?: object): void => void logged.push({ event, ...fields });
    return new Notices(lines, { publish }, 'x.', { warn }, () => now);
  };
  const toLog = async (record: OutgoingRecord): Promise<number> => {
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    return published.push(record);
  };
  const bodies = () =>
    published.map(({ value }) => JSON.parse(value.toString()) as { id: string; type: string; payload: object });
  const aLine = (id: string, at = now): string =>
    notices.line('webhook.disabled', { ...webhook, id }, gone, at) ?? 'none';
  /** As if whoever claimed or wrote a line had been killed some time ago. */
  const timePasses = async (): Promise<void> => {
    await redis.del(noticeClaimsOf(NOTICE_LINES));
    const waiting = await redis.zrange(NOTICE_LINES, '0', '-1');
    for (const line of waiting) await redis.zincrby(NOTICE_LINES, -NOTICES.graceMs, line);
  };
  /** Redis keeps for some time which states were told. */
  const left = async (): Promise<string[]> => (await redis.keys('*')).filter((key) => !key.includes(':told:'));
  beforeEach(async () => {
    await redis.flushall();
    [published, failures, logged, now] = [[], [], [], HOUR];
    notices = open(toLog);
  });

  it('is an envelope of the relay that only the partner of its webhook and operators get', async () => {
    await notices.tell('webhook.disabled', webhook, gone);
    const { topic, key, value, headers } = published[0] as OutgoingRecord;
    const read = readRecord({ offset: 0, key: Buffer.from(key), value, headers, timestamp: 1 }, topic, 'x.');
    expect(read).toMatchObject({
      kind: 'envelope',
      envelope: {
        id: noticeId('webhook.disabled', webhook.id, HOUR),
        type: 'webhook.disabled',
        audience: ['operators', 'partner_a'],
      },
      acceptedAt: HOUR,
    });
    expect([topic, key]).toEqual(['x.relay.notices', webhook.id]);
    expect(bodies()).toMatchObject([
      {
        payload: {
          ...webhook,
          at: new Date(HOUR).toISOString(),
          message: expect.stringContaining('its endpoint answered 410'),
          reason: 'gone',
        },
      },
    ]);
    expect(await left()).toEqual([]);
  });

  it('is sent at most once an hour for each kind, whatever else happens to the webhook', async () => {
    await notices.tell('webhook.disabled', webhook, gone);
    await notices.tell('webhook.disabled', webhook, { reason: 'partner' });
    expect(published).toHaveLength(1);
    await notices.tell('webhook.enabled', webhook, { disabledReason: 'gone' });
    now += HOUR_MS;
    await notices.tell('webhook.disabled', webhook, gone);
    expect(published).toHaveLength(3);
  });

  it('about a further change of state in an hour waits for the next hour, and only the last one is sent, by any process', async () => {
    // An hour that is over: what waits for its end is due.
    const minute = (n: number): number => HOUR - HOUR_MS + n * 60_000;
    const typesAndTimes = () =>
      bodies().map(({ id, type, payload }) => [type, Reflect.get(payload, 'at') as string, id] as const);
    const told = (type: 'webhook.disabled' | 'webhook.enabled', n: number, hour = HOUR - HOUR_MS) =>
      [type, new Date(minute(n)).toISOString(), noticeId(type, webhook.id, hour)] as const;
    const other = open(toLog);
    await notices.tell('webhook.disabled', webhook, { reason: 'operator' }, minute(1));
    await other.tell('webhook.enabled', webhook, { disabledReason: 'operator' }, minute(2));
    for (const line of [
      notices.line('webhook.disabled', webhook, gone, minute(3)),
      notices.line('webhook.enabled', webhook, { disabledReason: 'gone' }, minute(4)),
      notices.line('webhook.disabled', webhook, { reason: 'failing' }, minute(5)),
    ])
      await lines.keep(line ?? 'none');
    await other.publish();
    expect(typesAndTimes()).toEqual([told('webhook.disabled', 1), told('webhook.enabled', 2)]);
    await notices.publish(true);
    expect(typesAndTimes().slice(2)).toEqual([told('webhook.disabled', 5, HOUR)]);
    await notices.publish();
    expect([published.length, await left()]).toEqual([3, []]);
  });

  it('that waits for the next hour goes where a newer one can be told at once', async () => {
    await notices.tell('webhook.disabled', webhook, gone, HOUR);
    await notices.tell('webhook.disabled', webhook, { reason: 'partner' }, HOUR + 1);
    expect(await redis.zcard(`${NOTICE_LINES}:later`)).toBe(1);
    await notices.tell('webhook.enabled', webhook, { disabledReason: 'partner' }, HOUR + 2);
    expect([published.length, await left()]).toEqual([2, []]);
  });

  it('is never about a webhook of notices, whoever has left a line', async () => {
    const ofNotices = { ...webhook, eventType: 'webhook.disabled' };
    await notices.tell('webhook.disabled', ofNotices, gone);
    await lines.keep(aLine(webhook.id).replace('task.created', 'webhook.disabled'));
    await notices.publish();
    expect([published, await left()]).toEqual([[], []]);
  });

  it('has id and time of what it is about, however late it is told', async () => {
    const { replayId, state, matched, done, failed } = examplePayload(
      'replay.finished',
    ) as NoticeFacts<'replay.finished'>;
    await notices.tell('replay.finished', webhook, { replayId, state, matched, done, failed }, HOUR - 1);
    await lines.keep(aLine(webhook.id));
    now += 3 * HOUR_MS;
    await notices.publish();
    expect(bodies()).toMatchObject([
      {
        id: noticeId('replay.finished', webhook.id, HOUR - 1),
        payload: { at: new Date(HOUR - 1).toISOString(), done },
      },
      { id: noticeId('webhook.disabled', webhook.id, HOUR), payload: { at: new Date(HOUR).toISOString() } },
    ]);
  });

  it('waits while Kafka is away, and is told by a worker later', async () => {
    failures = [away];
    await notices.tell('webhook.disabled', webhook, gone);
    await notices.publish(true);
    expect(logged).toEqual([{ event: 'notice.waiting', reason: expect.stringContaining('no broker') }]);
    await timePasses();
    await open(toLog).publish(true);
    expect([published.length, await left()]).toEqual([1, []]);
  });

  it('is told by one of several processes at once, and left to its own for a moment', async () => {
    await lines.keep(aLine(webhook.id));
    await open(toLog).publish(true);
    expect(published).toEqual([]);
    await Promise.all([1, 2, 3].map(() => open(toLog).publish()));
    expect(published).toHaveLength(1);
  });

  it('is told by another process when the one that told it was killed', async () => {
    await lines.keep(aLine(webhook.id));
    void open(() => new Promise<never>(() => undefined)).publish();
    for (let tries = 0; tries < 400 && (await redis.zcard(noticeClaimsOf(NOTICE_LINES))) === 0; tries += 1)
      await delay(5);
    await notices.publish();
    expect(published).toEqual([]);
    await timePasses();
    await notices.publish(true);
    expect([published.length, await left()]).toEqual([1, []]);
  });

  it('that a broker refuses, or that is none, is lost at once and said', async () => {
    failures = [new PublishFailed('refused', 'too large')];
    await notices.tell('webhook.disabled', webhook, gone);
    await notices.tell('webhook.parked', { ...webhook, id: 'no uuid' }, { waiting: 3 });
    await lines.keep(`${now} no JSON`);
    await notices.publish();
    expect([published, await left()]).toEqual([[], []]);
    expect(logged).toMatchObject([
      { event: 'notice.lost', type: 'webhook.disabled', webhookId: webhook.id, partnerId: 'partner_a' },
      { event: 'notice.lost', reason: expect.stringMatching(/id/) },
      { event: 'notice.lost', reason: expect.stringMatching(/cannot be read/) },
    ]);
  });

  it('makes room for a newer one beyond a thousand that wait, which is said', async () => {
    const idOf = (n: number): string => `7c2d4e6f-1a3b-4c5d-8e9f-${String(n).padStart(12, '0')}`;
    for (let n = 0; n < NOTICES.most + 2; n += 1) await lines.keep(aLine(idOf(n)));
    expect(await redis.zcard(NOTICE_LINES)).toBe(NOTICES.most);
    await notices.publish();
    expect(logged).toEqual([{ event: 'notice.lost', reason: expect.stringContaining('too many'), dropped: 2 }]);
    expect([published.length, await left()]).toEqual([NOTICES.most, []]);
  });

  it('leaves no line when it is a day old, because an emptied Redis sees all changes again', async () => {
    await lines.keep(aLine(webhook.id, HOUR - 25 * HOUR_MS));
    await lines.keep(aLine(webhook.id, HOUR - 22 * HOUR_MS));
    await notices.publish();
    expect(bodies()).toMatchObject([{ payload: { at: new Date(HOUR - 22 * HOUR_MS).toISOString() } }]);
  });
});

describe('lines of notices over three shards', () => {
  const shards = shardsOn(redis, 3);
  const lines = new NoticeLines(redis, shards);
  const sets = [NOTICE_LINES, ...shards.all.map((shard) => shard.key('notices'))];

  it('are claimed from each, once, and removed where they are', async () => {
    await redis.flushall();
    for (const [index, key] of sets.entries()) await redis.zadd(key, 1, `${index} {}`);
    const kept = `${Date.now()} {}`;
    await lines.keep(kept);
    const { lines: claimed } = await lines.claim(true);
    expect(claimed.toSorted()).toEqual(['0 {}', '1 {}', '2 {}', '3 {}']);
    expect((await lines.claim(true)).lines).toEqual([]);
    await lines.remove(claimed);
    const left = await Promise.all(sets.map((key) => redis.zrange(key, '0', '-1')));
    expect(left).toEqual([[kept], [], [], []]);
  });

  it('are counted where too many were dropped', async () => {
    await redis.flushall();
    for (const key of sets) await redis.set(`${key}:dropped`, 2);
    expect((await lines.claim(true)).dropped).toBe(8);
    expect((await lines.claim(true)).dropped).toBe(0);
  });
});
