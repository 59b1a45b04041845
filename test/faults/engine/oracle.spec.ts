import type { Received } from '../../support/receiver.js';
import type { Endpoint } from './endpoints.js';
import type { Accepted } from './load.js';
import { allowedDuplicates, calmAfter, count, mostWithinASecond } from './oracle.js';

const aRequest = (id: string, request: Partial<Received> = {}): Received => ({
  at: 0,
  method: 'POST',
  path: '/',
  headers: { 'webhook-id': id, 'relay-attempt': '1' },
  body: Buffer.alloc(0),
  status: 204,
  answeredAt: 10,
  endedAt: 10,
  ...request,
});
const cut = (id: string, at: number, endedAt: number): Received => {
  const { answeredAt: _never, ...request } = aRequest(id, { at, endedAt });
  return request;
};
const endpoint = (...requests: Received[]): Endpoint => ({
  webhookId: 'w',
  eventType: 'task.created',
  isDisabling: false,
  isSteady: true,
  received: () => requests,
});
const accepted = (...ids: string[]): Map<string, Accepted> =>
  new Map(ids.map((id) => [id, { type: 'task.created', at: 0 }]));

describe('the count', () => {
  it('is lost what was accepted and neither answered 2xx nor is a dead letter', () => {
    const failed = aRequest('b', { status: 500 });
    const { owed, delivered, dead, lost } = count(
      accepted('a', 'b', 'c'),
      [endpoint(aRequest('a'), failed)],
      [{ webhookId: 'w', envelopeId: 'c' }],
    );
    expect({ owed, delivered, dead, lost }).toEqual({ owed: 3, delivered: 1, dead: 1, lost: ['w b'] });
  });

  it('owes nothing of another event type', () => {
    const other = new Map([['a', { type: 'plan.created', at: 0 }]]);
    expect(count(other, [endpoint()], [])).toMatchObject({ owed: 0, lost: [] });
  });

  it('takes no answer for a delivery that the relay did not live to hear', () => {
    expect(count(accepted('a'), [endpoint(cut('a', 5, 8))], []).lost).toEqual(['w a']);
  });

  it('is a duplicate every further request that is answered 2xx, heard or not', () => {
    const requests = [cut('a', 5, 8), aRequest('a', { at: 20 }), aRequest('a', { at: 30 })];
    expect(count(accepted('a'), [endpoint(...requests)], []).duplicates).toEqual(['w a', 'w a']);
  });
});

describe('the duplicates allowed', () => {
  const requests = [
    aRequest('marked', { at: 100, answeredAt: 150, endedAt: 150 }),
    aRequest('unmarked', { at: 900, answeredAt: 950, endedAt: 950 }),
    aRequest('running', { at: 980, answeredAt: 1_050, endedAt: 1_050 }),
    aRequest('later', { at: 1_001, answeredAt: 1_100, endedAt: 1_100 }),
  ];

  it('are what ran at the interruption and what one flush had not marked', () => {
    expect(
      allowedDuplicates(new Map(), [endpoint(...requests)], [{ at: 1_000, since: 1_000, lostWrites: false }]),
    ).toBe(2);
  });

  it('are everything since the moment whose writes survived', () => {
    expect(allowedDuplicates(new Map(), [endpoint(...requests)], [{ at: 1_000, since: 240, lostWrites: true }])).toBe(
      3,
    );
  });

  it('are also later deliveries of what was accepted before, if those writes are lost', () => {
    const early = new Map([['later', { type: 'task.created', at: 900 }]]);
    const lost = { at: 1_000, since: 1_000, lostWrites: true };
    expect(allowedDuplicates(early, [endpoint(...requests)], [lost])).toBe(3);
  });

  it('are more by what a busy machine held up', () => {
    expect(
      allowedDuplicates(new Map(), [endpoint(...requests)], [{ at: 1_000, since: 1_000, lostWrites: false }], 50),
    ).toBe(3);
  });
});

describe('mostWithinASecond', () => {
  it.each([
    [[], 0],
    [[1, 2, 3], 3],
    [[0, 500, 999, 1_000], 3],
    [[0, 10, 2_000, 2_001, 2_002], 3],
  ])('finds for %j: %i', (times, most) => {
    expect(mostWithinASecond(times)).toBe(most);
  });
});

describe('an ingress', () => {
  const answer = (at: number, tookMs: number, status = 202) => ({ at, tookMs, status });
  const before = Array.from({ length: 100 }, (_, index) => answer(index * 10, 5));

  it('is calm at once when nothing is slow after the return', () => {
    expect(calmAfter([...before, answer(1_500, 6)], 1_000, 1_000)).toBe(0);
  });

  it('is calm after the last second with a slow or refused answer', () => {
    expect(calmAfter([...before, answer(1_500, 900), answer(3_200, 5, 503), answer(4_100, 5)], 1_000, 1_000)).toBe(
      3_000,
    );
  });
});
