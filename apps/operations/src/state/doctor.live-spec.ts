import { Redis } from 'ioredis';
import { RunningOperations } from '../spec-operations.js';

const operations = await RunningOperations.ofSpec();

describe('the examination by HTTP', () => {
  it('names what is away and what is wrong, each with its fix, and examines the rest', async () => {
    await operations.app.get(Redis).config('SET', 'maxmemory-policy', 'allkeys-lru');
    const answer = await operations.call('GET', '/doctor');
    expect(answer.status).toBe(200);
    const { findings, ...rest } = (await answer.json()) as { findings: { check: string; state: string }[] };
    const faults = findings.filter(({ state }) => state === 'fault');
    expect(rest).toMatchObject({ healthy: false, faults: faults.length, unchecked: ['egress', 'proxy', 'retries'] });
    expect(faults).toEqual([
      {
        check: 'redis memory',
        state: 'fault',
        text: expect.stringContaining('allkeys-lru'),
        fix: expect.stringContaining('noeviction'),
      },
      // The Redis of specs keeps no log.
      expect.objectContaining({ check: 'redis durability' }),
      { check: 'kafka', state: 'fault', text: expect.stringContaining('Kafka does not answer'), fix: 'start it' },
    ]);
    const fine = findings.filter(({ state }) => state === 'ok').map(({ check }) => check);
    expect(fine).toEqual(expect.arrayContaining(['clock', 'client secrets', 'ENCRYPTION_KEYS', 'JWT_PRIVATE_KEYS']));
  });
});
