import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deliveryId } from '@relay/delivery';
import { AttemptSearch, type IndexedAttempt } from './attempt-sql.js';
import { AttemptStore } from './attempt-store.adapter.js';

const folder = mkdtempSync(join(tmpdir(), 'relay-search-'));
const path = join(folder, 'index.sqlite');
const NOW = 1_900_000_000_000;
const [webhookId, other] = [randomUUID(), randomUUID()];
let reasons: string[] = [];
let store: AttemptStore;
const open = (maxBytes = 1e9, log = 'a'): Promise<AttemptStore> =>
  AttemptStore.open(path, log, maxBytes, (reason) => void reasons.push(reason));
beforeEach(async () => {
  reasons = [];
  store = await open();
});
afterEach(() => store.discard());
afterAll(() => rmSync(folder, { recursive: true }));

function anAttempt(changes: Partial<IndexedAttempt> & { time?: number; series?: number } = {}): IndexedAttempt {
  const { time = NOW, series = 0, ...members } = changes;
  const envelopeId = members.envelopeId ?? randomUUID();
  const named = {
    webhookId: members.webhookId ?? webhookId,
    envelopeId,
    hash: '0123456789abcdef',
    series,
    acceptedAt: NOW,
  };
  return {
    deliveryId: deliveryId(named),
    envelopeId,
    webhookId: named.webhookId,
    eventType: 'task.created',
    partnerId: 'partner_a',
    host: 'a.example',
    at: new Date(time).toISOString(),
    attempt: 1,
    durationMs: 12,
    status: 204,
    outcome: 'delivered',
    final: true,
    ...members,
  };
}
const search = (query: Record<string, unknown> = {}) => store.find(AttemptSearch.parse(query));
const found = async (query: Record<string, unknown>) =>
  (await search(query)).attempts.map(({ envelopeId }) => envelopeId);
const add = (...attempts: IndexedAttempt[]) => store.add(attempts, new Map());
/** All of them are delivered. */
const count = async (): Promise<number> => (await store.tally(0)).delivered;

describe('the store of attempts', () => {
  it('returns an attempt as it was added', async () => {
    const [bare, full] = [
      {
        ...anAttempt({ time: NOW + 1 }),
        attempt: undefined,
        durationMs: undefined,
        status: undefined,
        reason: 'webhook deleted',
      },
      anAttempt({
        status: 503,
        error: 'timeout',
        detail: 'answered 503',
        answer: 'no “room”\n',
        answerHeaders: { server: 'a', 'x-request-id': '"1"' },
        timing: { reused: false, waitMs: 0, dnsMs: 3 },
        reason: 'gone',
        outcome: 'retry',
        final: false,
        nextAt: new Date(NOW + 5_000).toISOString(),
        series: 1_795_485_632_000,
      }),
    ];
    await add(bare, full);
    expect((await search()).attempts).toEqual([bare, full]);
    expect(await store.ofEnvelope(full.envelopeId)).toEqual([full]);
  });

  it('finds by each filter, and by all of them', async () => {
    const wanted = anAttempt({
      webhookId: other,
      partnerId: 'partner_b',
      eventType: 'plan.updated',
      host: 'b.example',
      status: 503,
      error: 'unexpected',
      outcome: 'dead-letter',
      time: NOW + 500,
    });
    await add(
      anAttempt({ time: NOW }),
      wanted,
      anAttempt({ time: NOW + 1_000, status: 404, outcome: 'retry', error: 'x' }),
      anAttempt({ time: NOW + 2_000, status: 500, outcome: 'retry', webhookId: randomUUID() }),
    );
    const filters = {
      envelope: wanted.envelopeId.toUpperCase(),
      delivery: wanted.deliveryId,
      webhook: other,
      partner: 'partner_b',
      type: 'plan.updated',
      host: 'B.example',
      status: '503',
      error: 'unexpected',
      outcome: 'dead-letter',
    };
    for (const [name, value] of Object.entries(filters))
      expect([name, await found({ [name]: value })]).toEqual([name, [wanted.envelopeId]]);
    expect(await found({ status: '5xx' })).toHaveLength(2);
    const times = { since: new Date(NOW + 500).toISOString(), until: new Date(NOW + 1_000).toISOString() };
    expect(await found(times)).toEqual([wanted.envelopeId]);
    expect(await found({ ...filters, ...times })).toEqual([wanted.envelopeId]);
    for (const [name, value] of Object.entries({
      webhook: webhookId,
      status: '2xx',
      host: 'c.example',
      outcome: 'delivered',
    }))
      expect([name, await found({ ...filters, [name]: value })]).toEqual([name, []]);
    expect(
      await found({
        ...filters,
        delivery: deliveryId({
          webhookId: other,
          envelopeId: wanted.envelopeId,
          hash: '0123456789abcdef',
          series: 1,
          acceptedAt: NOW,
        }),
      }),
    ).toEqual([]);
    expect(await found({ outcome: 'delivered' })).toHaveLength(1);
  });

  it('counts the attempts since a time by what they were answered', async () => {
    const retry = { outcome: 'retry', final: false, status: 503 } as const;
    await add(
      anAttempt({ time: NOW - 1 }),
      anAttempt({ ...retry, time: NOW - 1 }),
      anAttempt({ time: NOW }),
      anAttempt({ time: NOW + 5 }),
      anAttempt({ ...retry, time: NOW + 6 }),
      anAttempt({ time: NOW + 7, outcome: 'dead-letter', status: 410 }),
      anAttempt({ time: NOW + 8, outcome: 'cancelled', status: undefined }),
    );
    expect(await store.tally(NOW)).toEqual({ delivered: 2, failed: 2 });
    expect(await store.tally(NOW + 9)).toEqual({ delivered: 0, failed: 0 });
  });

  it('counts the attempts of each step, with percentiles of their durations, and forgets minutes that it deletes', async () => {
    const minute = Math.floor(NOW / 60_000) * 60_000;
    await add(
      ...Array.from({ length: 90 }, (_, n) => anAttempt({ time: minute + n, durationMs: 10 })),
      ...Array.from({ length: 8 }, (_, n) => anAttempt({ time: minute + n, durationMs: 100, outcome: 'retry' })),
      ...Array.from({ length: 2 }, (_, n) => anAttempt({ time: minute + n, durationMs: 15_000, outcome: 'retry' })),
      anAttempt({ time: minute + 120_000, durationMs: undefined, outcome: 'dead-letter' }),
      anAttempt({ time: minute + 120_000, durationMs: undefined, outcome: 'cancelled' }),
    );
    const begin = (time: number): string => new Date(time).toISOString();
    const none = { delivered: 0, failedAttempts: 0, p50Ms: null, p95Ms: null, p99Ms: null };
    const [first, second, third, ...others] = await store.counts(minute + 5, minute + 120_001, 60_000);
    expect(first).toEqual({
      at: begin(minute),
      delivered: 90,
      failedAttempts: 10,
      p50Ms: 10,
      p95Ms: 108,
      p99Ms: 13_777,
    });
    expect([second, third, others]).toEqual([
      { ...none, at: begin(minute + 60_000) },
      { ...none, at: begin(minute + 120_000), failedAttempts: 1 },
      [],
    ]);
    const [hour] = await store.counts(minute, minute + 1, 3_600_000);
    expect(hour).toMatchObject({ at: begin(Math.floor(minute / 3_600_000) * 3_600_000), delivered: 90, p50Ms: 10 });
    await store.trim(minute + 60_001);
    expect(await store.counts(minute, minute + 60_000, 60_000)).toMatchObject([{ delivered: 90 }]);
    await store.trim(minute + 120_001);
    expect(await store.counts(minute, minute + 60_000, 60_000)).toEqual([{ ...none, at: begin(minute) }]);
  });

  it('goes through pages that do not shift while attempts arrive, many in one millisecond', async () => {
    const attempts = Array.from({ length: 500 }, (_, n) => anAttempt({ time: NOW + Math.floor(n / 200) }));
    await add(...attempts);
    const seen: string[] = [];
    let page = await search({ limit: 7, webhook: webhookId });
    for (;;) {
      seen.push(...page.attempts.map(({ envelopeId }) => envelopeId));
      await add(anAttempt({ time: NOW + 10_000 }));
      if (page.next === undefined) break;
      page = await search({ limit: 7, webhook: webhookId, cursor: page.next });
    }
    expect(seen).toEqual(attempts.map(({ envelopeId }) => envelopeId).toReversed());
  });

  it('keeps host and partner of a webhook that is gone', async () => {
    await add(anAttempt());
    const last = { ...anAttempt({ time: NOW + 1 }), host: undefined, partnerId: undefined };
    await add(last);
    expect((await search({ limit: 1 })).attempts).toMatchObject([{ host: 'a.example', partnerId: 'partner_a' }]);
  });

  it('stores attempts with their positions or neither, and has both after a start', async () => {
    const attempt = anAttempt();
    await store.add([attempt], new Map([[3, { next: 8, last: { offset: 7, timestamp: NOW } }]]));
    const wrong = { ...anAttempt(), status: {} as number };
    await expect(
      store.add([anAttempt({ host: 'new.example' }), wrong], new Map([[3, { next: 10 }]])),
    ).rejects.toThrow();
    await add(anAttempt({ host: 'new.example', time: NOW - 1 }));
    await store.close();
    store = await open();
    expect(await store.positions()).toEqual(new Map([[3, { next: 8, last: { offset: 7, timestamp: NOW } }]]));
    expect((await search({ limit: 1 })).attempts).toEqual([attempt]);
    expect(await found({ host: 'new.example' })).toHaveLength(1);
    expect(reasons).toEqual([]);
  });

  it('deletes what is too old, and the oldest while the file is too large, and says from when on it has all', async () => {
    await add(...Array.from({ length: 12_000 }, (_, n) => anAttempt({ time: NOW + n, answer: 'x'.repeat(200) })));
    await store.trim(NOW + 1_000);
    expect([await count(), await store.since()]).toEqual([11_000, NOW + 1_000]);
    const bytes = await store.bytes();
    await store.close();
    store = await open(bytes / 2);
    await store.trim(NOW);
    expect(await store.bytes()).toBeLessThanOrEqual(bytes / 2);
    const since = (await store.since()) ?? 0;
    const oldest = (await search({ until: new Date(since + 1).toISOString() })).attempts;
    expect(oldest.map(({ at }) => at)).toEqual([new Date(since).toISOString()]);
    expect(await count()).toBeGreaterThan(1_000);
  });

  it('is made anew where the file is another log’s, or no database; nobody else may read it', async () => {
    await add(anAttempt());
    await store.close();
    store = await open(1e9, 'b');
    expect(await count()).toBe(0);
    await store.close();
    writeFileSync(path, 'not a database, but long enough to be read as the head of one '.repeat(100));
    store = await open(1e9, 'b');
    await add(anAttempt());
    expect(await count()).toBe(1);
    expect(reasons).toEqual(['it is of another log', expect.stringContaining('it is damaged')]);
    expect(existsSync(path)).toBe(true);
  });

  it('is opened by one process at a time', async () => {
    await expect(open()).rejects.toThrow('locked');
    await add(anAttempt());
    expect(await count()).toBe(1);
  });
});
