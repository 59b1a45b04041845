import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { nameResolver, type ResolveAll } from './name-resolver.adapter.js';
import { ALIAS, SpecNameServer } from './spec-name-server.js';

const V6 = '2606:4700:0:0:0:0:0:1111';
const RECORDS = {
  'both.example': ['1.1.1.1', '1.0.0.1', V6],
  'four.example': ['1.1.1.1'],
  'six.example': [V6],
  'none.example': [],
  'alias.example': [ALIAS],
  'healthy.example': ['1.1.1.1'],
  'hang-aaaa.example': ['1.1.1.1', V6],
  'hang-a.example': ['1.1.1.1', V6],
  'fail-aaaa.example': ['1.1.1.1'],
  'fail-a.example': [V6],
  'fail-aaaa.none.example': [],
  'late.example': ['1.1.1.1', V6],
  'late-a.example': ['1.1.1.1', V6],
};

describe('nameResolver', () => {
  let server: SpecNameServer;
  let resolve: ResolveAll;

  beforeAll(async () => {
    server = await SpecNameServer.open(RECORDS);
    resolve = nameResolver({ servers: [server.address] });
  });
  afterEach(() => {
    server.asked.length = 0;
  });
  afterAll(() => {
    server.close();
  });

  const addressesOf = async (name: string, isPatient = false): Promise<string[]> =>
    (await resolve(name, isPatient)).map(({ address }) => address);

  it.each([
    ['both.example', ['1.1.1.1', '1.0.0.1', '2606:4700::1111']],
    ['four.example', ['1.1.1.1']],
    ['six.example', ['2606:4700::1111']],
  ])('answers every address of %s, IPv4 first', async (name, addresses) => {
    expect(await addressesOf(name)).toEqual(addresses);
  });

  it.each([
    ['missing.example', 'ENOTFOUND', 'queryA'],
    ['none.example', 'ENODATA', 'queryA'],
    ['alias.example', 'ENODATA', 'queryA'],
    ['fail.example', 'ESERVFAIL', 'queryA'],
    ['fail-aaaa.none.example', 'ESERVFAIL', 'queryAaaa'],
  ])('rejects for %s with: %s of %s', async (name, code, syscall) => {
    await expect(resolve(name)).rejects.toMatchObject({ code, syscall });
  });

  it.each([
    ['hang-aaaa.example', ['1.1.1.1']],
    ['hang-a.example', ['2606:4700::1111']],
    ['fail-aaaa.example', ['1.1.1.1']],
    ['fail-a.example', ['2606:4700::1111']],
  ])('answers %s by the family that has addresses, and asks for the other one once', async (name, addresses) => {
    expect(await addressesOf(name)).toEqual(addresses);
    expect(server.asked.toSorted()).toEqual([`A ${name}`, `AAAA ${name}`]);
  });

  it('takes an answer that comes after the next question, however quick the server was before', async () => {
    for (let n = 0; n < 10; n += 1) await resolve('healthy.example');
    expect(await addressesOf('late.example')).toEqual(['1.1.1.1', '2606:4700::1111']);
  });

  it('waits for both families where it is asked to', async () => {
    expect(await addressesOf('late-a.example', true)).toEqual(['1.1.1.1', '2606:4700::1111']);
  });

  it.each(['hang', 'fail'])(
    'asks the next server where one does %s, and begins with it the next time',
    async (does) => {
      const troubled = await SpecNameServer.open(RECORDS, does);
      const asks = nameResolver({ servers: [troubled.address, server.address] });
      for (let n = 0; n < 2; n += 1) expect(await asks('four.example')).toEqual([{ address: '1.1.1.1', family: 4 }]);
      expect(troubled.asked).toHaveLength(2);
      troubled.close();
    },
  );

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
