import { Registry } from 'prom-client';
import { StoreConditions } from './store-conditions.adapter.js';

const evicts = (): Promise<string> => Promise.resolve('maxmemory_policy:allkeys-lru\r\n');
const keeps = (): Promise<string> => Promise.resolve('maxmemory_policy:noeviction\r\naof_enabled:0\r\n');
const isAway = (): Promise<string> => Promise.reject(new Error('Connection is closed.'));

describe('the conditions of the stores', () => {
  it('judges each Redis by its last answer while another, or it itself, is away', async () => {
    const [first, second] = [{ info: evicts }, { info: isAway }];
    const broken: unknown[] = [];
    const error = (_event: string, _text: string, fields?: object): void => void broken.push(fields);
    const log = { error, warn: () => undefined, info: () => undefined };
    const admin = {
      fetchTopicMetadata: () => Promise.reject(new Error('away')),
      describeConfigs: () => Promise.reject(new Error('away')),
      listTopics: () => Promise.reject(new Error('away')),
    };
    const shards = { connections: [first, second] };
    const config = { KAFKA_TOPIC_PREFIX: '', RELAY_ENV: 'production' };
    const conditions = new StoreConditions(shards as never, admin as never, config as never, new Registry(), log);
    await conditions.look();
    expect(conditions.fault).toContain('allkeys-lru');
    first.info = isAway;
    await conditions.look();
    expect(conditions.fault).toContain('allkeys-lru');
    first.info = keeps;
    await conditions.look();
    expect(conditions.fault).toBeUndefined();
    const durability = { condition: 'redis durability', reason: expect.stringContaining('appendonly is off') };
    expect(broken).toEqual([expect.objectContaining({ condition: 'redis memory' }), durability]);
  });
});
