import { oneShard } from '@relay/redis';
import { randomUUID } from 'node:crypto';
import { type NewReplay, Replays } from '@relay/replays';
import { HistoryModule } from '../history/history.module.js';
import { startWebhooks, type Partner, type Webhooks } from '../webhooks/spec-webhooks.js';
import { ReplaysModule } from './replays.module.js';

const registration = { eventType: 'task.created', endPointUrl: 'https://hooks.example.com/a', apiKey: 'key-1' };
const range = { topic: 'task.created', partition: 0, from: 0, end: 9 };

let relay: Webhooks;
let partner: Partner;
let webhookId: string;
beforeEach(async () => {
  // No broker answers it.
  relay = await startWebhooks({}, [ReplaysModule, HistoryModule]);
  partner = await relay.aPartner('acme');
  const { json } = await relay.ask('POST', '/webhooks', { token: partner.token, body: registration });
  webhookId = String(Reflect.get(json as object, 'id'));
});
afterEach(() => relay.stop());

const replayOf = (id: string, webhook: string): NewReplay => ({
  id,
  webhookId: webhook,
  partnerId: partner.clientId,
  eventType: 'task.created',
  status: 'all',
  since: undefined,
  until: undefined,
  orderedBy: 'partner',
});
const order = (webhook: string) => relay.ask('POST', `/webhooks/${webhook}/replay`, { token: partner.token });
const commands = async (): Promise<number> =>
  Number(/total_commands_processed:(\d+)/.exec(await relay.redis.info('stats'))?.[1]);

describe('the order of a replay', () => {
  it('beside one that is under way costs a look-up: neither Kafka is asked, nor are the others read', async () => {
    const replays = new Replays(relay.redis, oneShard(relay.redis));
    for (let n = 0; n < 200; n += 1) await replays.create(replayOf(randomUUID(), randomUUID()), [range], Date.now());
    const id = randomUUID();
    await replays.create(replayOf(id, webhookId), [range], Date.now());
    const before = await commands();
    expect(await order(webhookId)).toMatchObject({ status: 409, json: { id } });
    expect((await commands()) - before).toBeLessThan(100);
  });

  it('counts as a question for deliveries, of which a partner has so many a minute, also where nothing comes of it', async () => {
    const statuses = new Map<number, number>();
    for (let n = 0; n < 603; n += 1) {
      const { status } = await order(randomUUID());
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    expect(Object.fromEntries(statuses)).toEqual({ 404: 600, 429: 3 });
    expect((await relay.ask('GET', `/webhooks/${webhookId}/deliveries`, { token: partner.token })).status).toBe(429);
  });
});

describe('the list of replays', () => {
  const list = async (query = '') => relay.ask('GET', `/replays${query}`, { token: partner.token });
  const ids = async (query?: string): Promise<unknown[]> =>
    ((await list(query)).json as { replays: { id: string }[] }).replays.map(({ id }) => id);

  it('has the newest first, of all webhooks, as many as are asked for', async () => {
    const replays = new Replays(relay.redis, oneShard(relay.redis));
    const ordered = Array.from({ length: 30 }, () => randomUUID());
    for (const [n, id] of ordered.entries()) await replays.create(replayOf(id, randomUUID()), [range], 1_000 + n);
    const newest = ordered.toReversed();
    expect(await ids()).toEqual(newest.slice(0, 20));
    expect(await ids('?limit=2')).toEqual(newest.slice(0, 2));
    expect(await ids('?limit=100')).toEqual(newest);
  });

  it('has every one of them in pages, also where the last of a page is kept no longer', async () => {
    const replays = new Replays(relay.redis, oneShard(relay.redis));
    const ordered = Array.from({ length: 120 }, () => randomUUID());
    for (const [n, id] of ordered.entries())
      await replays.create(replayOf(id, randomUUID()), [range], 1_000 + Math.floor(n / 7));
    const found: unknown[] = [];
    let query: string | undefined = '?limit=50';
    while (query !== undefined) {
      const { json, headers } = await list(query);
      found.push(...(json as { replays: { id: string }[] }).replays.map(({ id }) => id));
      query = /^<\/replays(\?.*)>; rel="next"$/.exec(String(headers['link']))?.[1];
      if (found.length === 50) await replays.create(replayOf(randomUUID(), randomUUID()), [range], 2_000);
    }
    expect(new Set(found)).toEqual(new Set(ordered));
    expect(found).toHaveLength(120);
    const gone = `{relay:0}:replays:by:${partner.clientId}`;
    await relay.redis.zrem(gone, String(found[49]));
    const at = String(await relay.redis.zscore(gone, String(found[48])));
    expect((await ids(`?limit=100&cursor=${at}.${String(found[49])}`)).at(-1)).toBe(found.at(-1));
  });

  it('forgets with a replay its place in the list', async () => {
    const replays = new Replays(relay.redis, oneShard(relay.redis));
    for (let n = 0; n < 25; n += 1) {
      const id = randomUUID();
      await replays.create(replayOf(id, webhookId), [range], 1_000 + n);
      await replays.cancel(id, 1_000 + n);
    }
    expect(await relay.redis.zcard(`{relay:0}:replays:by:${partner.clientId}`)).toBe(20);
  });

  it.each(['0', '101', 'x'])('refuses a limit of %s, naming it', async (limit) => {
    const { status, json } = await list(`?limit=${limit}`);
    expect([status, Reflect.get(json as object, 'detail')]).toEqual([400, expect.stringContaining('limit: ')]);
  });
});
