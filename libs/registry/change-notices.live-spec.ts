import { NOTICE_LINES } from '@relay/redis';
import { MemoryRegistryLog, memoryRegistry, redisOfSpec } from '@relay/testing';
import { aChange, aWebhook } from './spec-commands.js';

const { redis } = await redisOfSpec();

const DAY_MS = 86_400_000;
const NOW = Date.now();
const disabled = (id: string, at: number, disabledReason = 'gone'): object =>
  aChange(id, at, { status: 'disabled', disabledReason });
const enabled = (id: string, at: number): object => aChange(id, at, { status: 'active', disabledReason: null });
const rotated = (id: string, at: number): object =>
  aChange(id, at, { secrets: ['t', 's'], oldSecretUntil: at + DAY_MS });

describe('a change of a webhook', () => {
  let log: MemoryRegistryLog;
  const made = async (...commands: object[]): Promise<unknown[]> => {
    const registry = memoryRegistry(redis, log);
    const results: unknown[] = [];
    for (const command of commands) results.push(await registry.change('webhook', command));
    return results;
  };
  const lines = async (): Promise<unknown[]> =>
    (await redis.zrange(NOTICE_LINES, '0', '-1')).toSorted().map((line) => {
      const [at = '', ...json] = line.split(' ');
      return [Number(at), JSON.parse(json.join(' '))] as const;
    });
  const line = (id: string, at: number, type: string, facts: object) => [
    at,
    { type, webhook: { id, partnerId: 'p', eventType: 'task.created', origin: 'https://e.example' }, facts },
  ];
  beforeEach(async () => {
    await redis.flushall();
    log = new MemoryRegistryLog();
  });

  it('leaves a line for its notice, with the time of the change', async () => {
    await made(aWebhook('a'), disabled('a', NOW), enabled('a', NOW + 1), rotated('a', NOW + 2));
    expect(await lines()).toEqual([
      line('a', NOW, 'webhook.disabled', { reason: 'gone' }),
      line('a', NOW + 1, 'webhook.enabled', { disabledReason: 'gone' }),
      line('a', NOW + 2, 'secret.rotated', { oldSecretUntil: NOW + 2 + DAY_MS }),
    ]);
  });

  it('leaves none when it changes no state, is refused, or asks for a test of the endpoint', async () => {
    await made(aWebhook('a'), disabled('a', NOW, 'unverified'), disabled('a', NOW, 'gone'), disabled('b', NOW));
    await made(aWebhook('c'), aChange('c', NOW, { endPointName: 'n' }), enabled('c', NOW));
    expect(await lines()).toEqual([]);
  });

  it('leaves one again in a Redis that was emptied, but not of another day', async () => {
    await made(aWebhook('a'), disabled('a', NOW - 2 * DAY_MS), enabled('a', NOW - DAY_MS / 2));
    await redis.flushall();
    await memoryRegistry(redis, log).catchUp();
    expect(await lines()).toEqual([line('a', NOW - DAY_MS / 2, 'webhook.enabled', { disabledReason: 'gone' })]);
  });

  it('is made also where no line can be written', async () => {
    await redis.set(NOTICE_LINES, 'not what it should be');
    expect(await made(aWebhook('a'), disabled('a', NOW), rotated('a', NOW))).toMatchObject([
      { kind: 'created' },
      { kind: 'updated' },
      { kind: 'updated' },
    ]);
  });
});
