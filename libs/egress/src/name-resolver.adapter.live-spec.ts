import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { nameResolver, type ResolveAll } from './name-resolver.adapter.js';
import { SpecNameServer } from './spec-name-server.js';

const V6 = '2606:4700:0:0:0:0:0:1111';

describe('nameResolver', () => {
  let server: SpecNameServer;
  let resolve: ResolveAll;

  beforeAll(async () => {
    server = await SpecNameServer.open({
      'both.example': ['1.1.1.1', '1.0.0.1', V6],
      'four.example': ['1.1.1.1'],
      'six.example': [V6],
      'none.example': [],
      'healthy.example': ['1.1.1.1'],
    });
    resolve = nameResolver({ servers: [server.address] });
  });
  afterEach(() => {
    server.asked.length = 0;
  });
  afterAll(() => {
    server.close();
  });

  const addressesOf = async (name: string): Promise<string[]> => (await resolve(name)).map(({ address }) => address);

  it.each([
    ['both.example', ['1.1.1.1', '1.0.0.1', '2606:4700::1111']],
    ['four.example', ['1.1.1.1']],
    ['six.example', ['2606:4700::1111']],
  ])('answers every address of %s, IPv4 first', async (name, addresses) => {
    expect(await addressesOf(name)).toEqual(addresses);
  });

  it.each([
    ['missing.example', 'ENOTFOUND'],
    ['none.example', 'ENODATA'],
  ])('rejects for %s with: %s', async (name, code) => {
    await expect(resolve(name)).rejects.toMatchObject({ code, syscall: 'queryA' });
  });

  it('shares one look-up of concurrent requests, and repeats it afterwards', async () => {
    await Promise.all(Array.from({ length: 50 }, () => resolve('four.example')));
    expect(server.asked).toHaveLength(2);
    await resolve('four.example');
    expect(server.asked).toHaveLength(4);
  });

  it('resolves a healthy name at once beside 50 names with a silent server', async () => {
    const times: number[] = [];
    const healthy = async (): Promise<void> => {
      const startedAt = performance.now();
      await resolve('healthy.example');
      times.push(performance.now() - startedAt);
    };
    const hanging = Promise.allSettled(Array.from({ length: 50 }, (_, n) => resolve(`hang-${n}.example`)));
    for (let n = 0; n < 40; n++) await healthy();
    const slowest = Math.max(...times);
    const codes = (await hanging).map((result) => (result.status === 'rejected' ? result.reason.code : 'answered'));
    expect(new Set(codes)).toEqual(new Set(['ETIMEOUT']));
    expect(slowest).toBeLessThan(500); // a thread pool full of silent look-ups gives none back for seconds
  });
});
