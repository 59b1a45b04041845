import { Registry } from 'prom-client';
import { StoreConditions } from './store-conditions.adapter.js';

const evicts = (): Promise<string> => Promise.resolve('maxmemory_policy:allkeys-lru\r\n');
const keeps = (): Promise<string> => Promise.resolve('maxmemory_policy:noeviction\r\n');
const isAway = (): Promise<string> => Promise.reject(new Error('Connection is closed.'));

describe('the conditions of the stores', () => {
  it('judges each Redis by its last answer while another, or it itself, is away', async () => {
    const [first, second] = [{ info: evicts }, { info: isAway }];
    const log = { error: () => undefined, warn: () => undefined, info: () => undefined };
    const admin = {
      fetchTopicMetadata: () => Promise.reject(new Error('away')),
      describeConfigs: () => Promise.reject(new Error('away')),
      listTopics: () => Promise.reject(new Error('away')),
    };
    const shards = { connections: [first, second] };
    const config = { KAFKA_TOPIC_PREFIX: '' };
    const conditions = new StoreConditions(shards as never, admin as never, config as never, new Registry(), log);
    await conditions.look();
    expect(conditions.fault).toContain('allkeys-lru');
    first.info = isAway;
    await conditions.look();
    expect(conditions.fault).toContain('allkeys-lru');
    first.info = keeps;
    await conditions.look();
    expect(conditions.fault).toBeUndefined();
  });
});
