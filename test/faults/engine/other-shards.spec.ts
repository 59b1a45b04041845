import type { Received } from '../../support/receiver.js';
import type { Endpoint } from './endpoints.js';
import { othersOf } from './other-shards.js';

const delivery = (id: string, at: number): Received => ({
  at,
  method: 'POST',
  path: '/',
  headers: { 'webhook-id': id, 'relay-attempt': '1' },
  body: Buffer.alloc(0),
  status: 204,
  answeredAt: at + 5,
  endedAt: at + 5,
});
const endpoint = (isSteady: boolean, ...requests: Received[]): Endpoint => ({
  webhookId: 'w',
  eventType: 'task.created',
  isDisabling: false,
  isSteady,
  received: () => requests,
});
const accepted = (at: Record<string, number>) =>
  new Map(Object.entries(at).map(([id, when]) => [id, { type: 'task.created', at: when }]));
const strike = { from: 1_000, to: 5_000, has: (id: string) => id.startsWith('struck') };

describe('the envelopes of the other shards', () => {
  it('count while the fault lasts: their deliveries, the longest time without one, and what they took', () => {
    const requests = [
      delivery('before', 900),
      delivery('struck', 1_100),
      delivery('a', 1_500),
      delivery('b', 4_000),
      delivery('late', 6_000),
    ];
    const times = accepted({ before: 890, struck: 1_001, a: 1_400, b: 1_600, late: 4_900 });
    expect(othersOf(strike, times, [endpoint(true, ...requests)])).toEqual({
      delivered: 2,
      pauseMs: 2_500,
      p99Ms: 2_405,
    });
  });

  it('take as long as it takes at endpoints that do not fail by themselves', () => {
    const times = accepted({ a: 1_400 });
    const endpoints = [endpoint(true, delivery('a', 1_410)), endpoint(false, delivery('a', 3_000))];
    expect(othersOf(strike, times, endpoints)).toMatchObject({ delivered: 2, p99Ms: 15 });
  });

  it('are counted as not delivered if only the struck shard delivers', () => {
    const times = accepted({ struck: 1_001 });
    expect(othersOf(strike, times, [endpoint(true, delivery('struck', 1_100))])).toEqual({
      delivered: 0,
      pauseMs: 4_000,
      p99Ms: 0,
    });
  });
});
