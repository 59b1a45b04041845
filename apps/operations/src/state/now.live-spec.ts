import { readMemory } from '@relay/metrics';
import { parkedKey } from '@relay/progress';
import { onlyShard } from '@relay/redis';
import { Redis } from 'ioredis';
import { letterOf, RunningOperations } from '../spec-operations.js';

const operations = await RunningOperations.ofSpec();

describe('the state at the moment by HTTP', () => {
  it('has what Redis tells while Kafka is away and the index off, and no alert that it cannot know', async () => {
    const redis = operations.app.get(Redis);
    await operations.addDeadLetter(letterOf());
    await redis.sadd(parkedKey(onlyShard(redis)), 'w');
    const { used } = await readMemory(redis);
    await redis.config('SET', 'maxmemory', Math.round(used * 1.3));
    const answer = await operations.call('GET', '/now');
    await redis.config('SET', 'maxmemory', '0');
    expect(answer.status).toBe(200);
    const { alerts, ...now } = (await answer.json()) as { alerts: { name: string; state: string }[] };
    expect(now).toMatchObject({
      lag: null,
      waiting: 0,
      oldestWaitingS: 0,
      deadLetters: 1,
      parked: 1,
      rates: { accepted: null, delivered: null, failed: null },
      incomplete: ['kafka', 'index'],
    });
    const stateOf = (name: string) => alerts.find((alert) => alert.name === name);
    expect(stateOf('RelayRedisMemory')).toMatchObject({
      state: 'pending',
      severity: 'critical',
      value: expect.any(Number),
      since: expect.any(String),
      runbook: 'docs/operations/runbooks.md#relayredismemory',
    });
    expect(stateOf('RelayConsumerLag')).toMatchObject({ state: 'unknown', value: null, since: null });
    expect(stateOf('RelayConsumerStopped')).toMatchObject({ state: 'unknown' });
    expect(stateOf('RelayRetriesOverdue')).toMatchObject({ state: 'quiet', value: 0 });
  });
});
