import { randomUUID } from 'node:crypto';
import { CLOSED, RedisBreakerStore } from '@relay/breaker';
import { ShardAttemptCounts, ShardHistory } from '@relay/history';
import { WaitingJobs } from '@relay/jobs';
import { PublishFailed } from '@relay/publishing';
import { oneShard, onlyShard } from '@relay/redis';
import { FAILING, WebhookStore } from '@relay/webhooks';
import { Redis } from 'ioredis';
import { basicOf, RunningOperations } from '../spec-operations.js';
import { shownPath } from './webhook-states.adapter.js';

const origin = (name: string): string => `https://${name}.example.com`;

const operations = await RunningOperations.ofSpec();

describe('webhooks by HTTP', () => {
  let [well, failing, stuck] = ['', '', ''];
  const register = async (partnerId: string, name: string, path = 'hook'): Promise<string> => {
    const url = `${origin(name)}/${path}`;
    const texts = { endPointUrl: url, endPointDesc: undefined, endPointName: undefined };
    const draft = { eventType: 'task.created' as const, origin: origin(name), url, apiKey: 'k' };
    return ((await operations.app.get(WebhookStore).register(partnerId, { ...texts, ...draft })) as { id: string }).id;
  };
  const paused = { ...CLOSED, opened: 1, openUntil: Date.now() + 600_000 };
  beforeAll(async () => {
    [well, failing, stuck] = [
      await register('p', 'well'),
      await register('p', 'failing'),
      await register('q', 'stuck'),
    ];
    const redis = operations.app.get(Redis);
    await redis.hset(FAILING, failing, '1000 7');
    await new RedisBreakerStore(redis).change(`q ${origin('stuck')}`, Date.now(), () => paused);
    const hour = 3_600_000;
    await new ShardAttemptCounts(onlyShard(redis), hour).add([{ webhookId: failing, failed: 3, delivered: 0 }]);
    const good = { webhookId: well, envelopeId: randomUUID(), acceptedAt: 1, series: 0 };
    const attempts = [{ at: 1, durationMs: 1, status: 204 }];
    await new ShardHistory(onlyShard(redis), hour).add([{ ...good, attempts }]);
    const job = { webhookId: stuck, envelopeId: randomUUID(), hash: '0123456789abcdef', series: 0, body: '{}' };
    await new WaitingJobs(oneShard(redis)).add([
      { ...job, acceptedAt: 5_000 },
      { ...job, acceptedAt: 3_000 },
    ]);
  });
  const json = async (method: string, path: string): Promise<Record<string, unknown>> =>
    (await (await operations.call(method, path)).json()) as Record<string, unknown>;
  const idsOf = async (query: string): Promise<unknown> =>
    ((await json('GET', `/webhooks?${query}`))['webhooks'] as { id: string }[]).map(({ id }) => id);

  it('are listed by what troubles them', async () => {
    expect(await json('GET', '/webhooks?partner=q')).toEqual({
      total: 1,
      webhooks: [
        {
          id: stuck,
          partnerId: 'q',
          eventType: 'task.created',
          origin: origin('stuck'),
          path: '/hook',
          status: 'active',
          disabledReason: null,
          createdAt: expect.any(String),
          waiting: 2,
          oldestWaitingSince: '1970-01-01T00:00:03.000Z',
          failureRate: null,
          failingSince: null,
          breaker: 'open',
          notBefore: expect.any(String),
        },
      ],
    });
    expect(await idsOf('trouble=breaker')).toEqual([stuck]);
    expect(await idsOf('trouble=waiting')).toEqual([stuck]);
    expect(await idsOf('trouble=failing')).toEqual([failing]);
    expect(await idsOf('status=active&eventType=task.created&limit=2')).toHaveLength(2);
    expect(await idsOf('eventType=task.updated')).toEqual([]);
    expect(await json('GET', `/webhooks/${stuck}`)).toMatchObject({ oldestWaitingSince: '1970-01-01T00:00:03.000Z' });
    expect(await json('GET', `/webhooks/${failing}`)).toMatchObject({
      failingSince: '1970-01-01T00:00:01.000Z',
      oldestWaitingSince: null,
      failureRate: 1,
    });
    expect(await json('GET', `/webhooks/${well}`)).toMatchObject({ failureRate: 0, waiting: 0 });
  });

  it.each([
    ['/hooks/task-created/v2/', '/hooks/task-created/v2/'],
    ['/services/T00/b1c/zyxwvutsrqponmlk?key=k', '/services/…/…/…'],
    ['/a%20b/abcdefghijklmn-abcdefghijklmn-abcdefghijklmn-a', '/…/…'],
  ])('have no part of %s that could be a key', (path, shown) => {
    expect(shownPath(origin('a') + path)).toBe(shown);
  });

  it('are counted by the hour', async () => {
    const at = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000).toISOString();
    const { hours } = (await json('GET', `/webhooks/${failing}/counts?since=${at}`)) as { hours: object[] };
    expect(hours).toEqual([{ at, delivered: 0, failedAttempts: 3 }]);
    expect((await operations.call('GET', `/webhooks/${failing}/counts?from=${at}`)).status).toBe(400);
  });

  it('are sorted by the share of failures, the longest wait, or how many deliveries wait', async () => {
    expect(await idsOf('sort=failureRate')).toEqual([failing, well, stuck]);
    expect(await idsOf('sort=failureRate&limit=1')).toEqual([failing]);
    const job = { webhookId: well, envelopeId: randomUUID(), hash: '0123456789abcdef', series: 0, body: '{}' };
    await new WaitingJobs(oneShard(operations.app.get(Redis))).add([{ ...job, acceptedAt: 2_000 }]);
    expect(await idsOf('sort=oldestWaiting&limit=2')).toEqual([well, stuck]);
    expect(await idsOf('trouble=waiting')).toEqual([stuck, well]);
    expect(await idsOf('trouble=waiting&sort=oldestWaiting')).toEqual([well, stuck]);
    expect((await idsOf('sort=waiting')) as string[]).toEqual([stuck, expect.any(String), expect.any(String)]);
    await new WaitingJobs(oneShard(operations.app.get(Redis))).ended({ ...job, acceptedAt: 2_000 });
    expect((await operations.call('GET', '/webhooks?sort=id')).status).toBe(400);
  });

  it.each(['/webhooks', '/webhooks?sort=failureRate', '/clients', '/clients?kind=operator'])(
    'are listed in pages, as clients are: %s',
    async (path) => {
      const member = path.slice(1).split('?', 1)[0] ?? '';
      const listOf = async (from: string) => {
        const answer = await operations.call('GET', from);
        const { [member]: list } = (await answer.json()) as Record<string, object[]>;
        return { list: list ?? [], link: answer.headers.get('link') };
      };
      const all = (await listOf(path)).list;
      const paged: object[] = [];
      let next: string | undefined = `${path}${path.includes('?') ? '&' : '?'}limit=1`;
      while (next !== undefined) {
        const { list, link }: Awaited<ReturnType<typeof listOf>> = await listOf(next);
        paged.push(...list);
        next = /^<(.*)>; rel="next"$/.exec(link ?? '')?.[1];
      }
      expect(all.length).toBeGreaterThan(0);
      expect(paged).toEqual(all);
    },
  );

  it('are paused one by one where a path fails, and together where their origin is away', async () => {
    const [one, sibling] = [await register('r', 'shared', 'one'), await register('r', 'shared', 'sibling')];
    const breakers = new RedisBreakerStore(operations.app.get(Redis));
    await breakers.change(`r ${origin('shared')} ${one}`, Date.now(), () => paused);
    expect(await idsOf('trouble=breaker&partner=r')).toEqual([one]);
    expect(await json('GET', `/webhooks/${sibling}`)).toMatchObject({ breaker: 'closed', notBefore: null });
    await breakers.change(`r ${origin('shared')}`, Date.now(), () => ({ ...paused, openUntil: Date.now() - 1 }));
    expect(await json('GET', `/webhooks/${one}`)).toMatchObject({ breaker: 'open', notBefore: expect.any(String) });
    expect(await json('GET', `/webhooks/${sibling}`)).toMatchObject({ breaker: 'half-open', notBefore: null });
  });

  it('are disabled and enabled after that is told, once', async () => {
    const by = { operator: operations.operator.clientId, webhookId: well, partnerId: 'p', eventType: 'task.created' };
    operations.publisher.failure = new PublishFailed('unavailable', 'away');
    expect((await operations.call('POST', `/webhooks/${well}/disable`)).status).toBe(503);
    operations.publisher.failure = undefined;
    expect(await json('GET', `/webhooks/${well}`)).toMatchObject({ status: 'active' });

    const disabled = { id: well, status: 'disabled', disabledReason: 'operator' };
    expect(await json('POST', `/webhooks/${well}/disable`)).toMatchObject(disabled);
    expect(await json('POST', `/webhooks/${well}/disable`)).toMatchObject(disabled);
    expect(await json('POST', `/webhooks/${well}/enable`)).toMatchObject({ status: 'active', disabledReason: null });
    expect(await json('POST', `/webhooks/${well}/enable`)).toMatchObject({ status: 'active' });
    expect(operations.told()).toEqual([
      expect.objectContaining({ ...by, event: 'webhook.disabled', reason: 'operator' }),
      expect.objectContaining({ ...by, event: 'webhook.enabled', disabledReason: 'operator' }),
    ]);
    const notices = operations.publisher.read('relay.notices').map(({ value }) => JSON.parse(String(value)) as object);
    expect(notices).toEqual([
      expect.objectContaining({ type: 'webhook.disabled', payload: expect.objectContaining({ id: well }) }),
      expect.objectContaining({
        type: 'webhook.enabled',
        payload: expect.objectContaining({ disabledReason: 'operator' }),
      }),
    ]);
  });

  it('are enabled by who disabled them, and an operator stops what others have disabled', async () => {
    const store = operations.app.get(WebhookStore);
    await store.disable('p', well, 'partner');
    expect((await operations.call('POST', `/webhooks/${well}/enable`)).status).toBe(409);
    expect(await json('GET', `/webhooks/${well}`)).toMatchObject({ disabledReason: 'partner' });
    expect(await json('POST', `/webhooks/${well}/disable`)).toMatchObject({ disabledReason: 'operator' });
    expect(await json('POST', `/webhooks/${well}/enable`)).toMatchObject({ status: 'active' });
  });

  it('are not enabled without the test of their endpoint', async () => {
    await operations.app.get(WebhookStore).disable('p', failing, 'unverified');
    expect((await operations.call('POST', `/webhooks/${failing}/enable`)).status).toBe(409);
    expect(await json('GET', `/webhooks/${failing}`)).toMatchObject({ disabledReason: 'unverified' });
  });

  it('are 404 where there are none', async () => {
    for (const id of ['none', randomUUID()])
      for (const [method, path] of [
        ['GET', ''],
        ['GET', '/counts'],
        ['POST', '/disable'],
        ['POST', '/enable'],
      ] as const)
        expect([path, (await operations.call(method, `/webhooks/${id}${path}`)).status]).toEqual([path, 404]);
  });

  it('are deleted by an admin, who is told before', async () => {
    const id = await register('p', 'leaves');
    const path = `/webhooks/${id}`;
    const operator = await operations.clients.createOperator('day', 'operator');
    const headers = { authorization: basicOf(operator) };
    expect((await operations.call('DELETE', path, undefined, headers)).status).toBe(403);
    operations.publisher.failure = new PublishFailed('unavailable', 'away');
    expect((await operations.call('DELETE', path)).status).toBe(503);
    operations.publisher.failure = undefined;
    expect(await json('GET', path)).toMatchObject({ id });
    expect((await operations.call('DELETE', path)).status).toBe(204);
    expect((await operations.call('DELETE', path)).status).toBe(404);
    const by = { operator: operations.operator.clientId, partnerId: 'p', webhookId: id };
    expect(operations.told().at(-1)).toMatchObject({ event: 'webhook.deleted', ...by });
  });

  it('are added for the notices of operators, once for each type', async () => {
    const add = async (body: object) => {
      const answer = await operations.call('POST', '/notices', body);
      return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
    };
    const [url, types] = ['https://ops.example.com/relay', ['webhook.disabled', 'webhook.enabled']];
    const added = await add({ url, types });
    const made = { id: expect.any(String), secret: expect.stringMatching(/^whsec_/), apiKey: expect.any(String) };
    const [disabled, enabled] = types;
    const webhooks = [
      { ...made, eventType: disabled },
      { ...made, eventType: enabled },
    ];
    expect(added).toEqual({ status: 201, json: { webhooks, existing: [] } });
    expect((await add({ url, types: ['webhook.disabled'], apiKey: 'k' })).json).toEqual({
      webhooks: [],
      existing: ['webhook.disabled'],
    });
    expect(await json('GET', '/webhooks?partner=operators')).toMatchObject({ total: 2 });
    const errors = [{ pointer: '/url', detail: expect.stringContaining('public address') }];
    expect(await add({ url: 'https://10.1.2.3/' })).toMatchObject({ status: 400, json: { errors } });
    expect(operations.told().at(-1)).toMatchObject({ event: 'webhook.registered', partnerId: 'operators' });
  });
});
