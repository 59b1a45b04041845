import { randomBytes, randomUUID } from 'node:crypto';
import { verifyDelivery } from '@relay/client';
import { readRecord, type EnvelopeRecord } from '@relay/events';
import type { LogFetcher } from '@relay/kafka';
import { Keyring } from '@relay/keyring';
import type { IngressConfig } from '@relay/settings';
import type { ThrottledLog } from '@relay/telemetry';
import { Registry } from 'prom-client';
import { ListenMetrics, ListenStreams } from './listen-streams.js';
import { Listener, StreamKeys } from './listener.js';

const keyring = (): Keyring => Keyring.parse(`k:${randomBytes(32).toString('base64')}`);
const keys = new StreamKeys(keyring());

let now: number;
let listener: Listener;
beforeEach(() => {
  now = Date.now();
  listener = new Listener(
    'partner_1',
    { position: new Map([['plan.created', [5, 7]]]), topicIds: new Map([['plan.created', 'a']]) },
    keys,
    async () => true,
    () => now,
  );
});
afterEach(() => listener.stream.destroy());

function aRecord(offset: number, audience?: string, text = ''): EnvelopeRecord {
  const value = Buffer.from(JSON.stringify({ id: randomUUID(), type: 'plan.created', payload: { text } }));
  const headers = audience === undefined ? {} : { 'relay-partner': audience };
  const read = readRecord({ offset, key: null, value, headers, timestamp: now }, 'plan.created', '');
  if (read.kind === 'poison') throw new Error(read.reason);
  return read;
}
/** What waits to be read, event by event. */
const written = (): Record<string, string>[] =>
  String((listener.stream.read() as Buffer | null) ?? '')
    .split('\n\n')
    .filter((block) => block !== '')
    .map((block) =>
      Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string])),
    );
const placeIn = ({ id = '' }: Record<string, string>) => keys.opened('partner_1', id)?.position.get('plan.created');

describe('a stream', () => {
  it('tells its secret, and signs with it the bytes of the record', () => {
    listener.open(undefined);
    const record = aRecord(5, undefined, 'é\u2028🌍');
    listener.take(record, 'plan.created', 0);
    const [open, delivery] = written() as [Record<string, string>, Record<string, string>];
    const { secret, types } = JSON.parse(open['data'] ?? '');
    expect([open['event'], types, secret]).toEqual(['open', ['plan.created'], keys.secretOf('partner_1')]);
    const { id, type, headers, body } = JSON.parse(delivery['data'] ?? '');
    expect([delivery['event'], id, type]).toEqual(['delivery', record.envelope.id, 'plan.created']);
    expect(Buffer.from(body)).toEqual(record.record.value);
    expect(verifyDelivery(headers, Buffer.from(body), secret)).toMatchObject({ genuine: true });
  });

  it('has what is for everyone and for its partner, and passes by the rest', () => {
    listener.take(aRecord(5), 'plan.created', 0);
    listener.take(aRecord(6, 'partner_2'), 'plan.created', 0);
    listener.take(aRecord(7, 'partner_2,partner_1'), 'plan.created', 0);
    listener.take(aRecord(8, ''), 'plan.created', 0);
    const events = written();
    expect(events.map(placeIn)).toEqual([
      [6, 7],
      [8, 7],
    ]);
    expect(listener.nextOf('plan.created', 0)).toBe(9);
  });

  it('tells its place from time to time, with no event', () => {
    listener.open(undefined);
    written();
    listener.passed('plan.created', 0, 20);
    now += 14_999;
    listener.look();
    expect(written()).toEqual([]);
    now += 1;
    listener.look();
    const [beat = {}] = written();
    expect(Object.keys(beat)).toEqual(['id']);
    expect(placeIn(beat)).toEqual([20, 7]);
  });

  it('takes no more than it has room for, and is cut when nobody reads', () => {
    listener.open(undefined);
    let offset = 5;
    while (listener.isReady && offset < 100)
      listener.take(aRecord(offset++, undefined, 'x'.repeat(10_000)), 'plan.created', 0);
    expect(offset).toBeLessThan(15);
    expect(listener.stream.readableLength).toBeLessThan(64 * 1024 + 12_000);
    now += 29_999;
    listener.look();
    expect(written().at(-1)?.['event']).toBe('delivery');
  });

  it('says why it ends', () => {
    let offset = 5;
    while (listener.isReady && offset < 100)
      listener.take(aRecord(offset++, undefined, 'x'.repeat(10_000)), 'plan.created', 0);
    now += 30_000;
    listener.look();
    const last = written().at(-1) ?? {};
    expect([last['event'], JSON.parse(last['data'] ?? '')]).toEqual([
      'end',
      expect.objectContaining({ reason: 'slow' }),
    ]);
    expect(listener.isReady).toBe(false);
    listener.take(aRecord(offset), 'plan.created', 0);
    expect(written()).toEqual([]);
  });

  it('tells from when on something may be missing', () => {
    listener.open(now - 60_000);
    const { since, until } = JSON.parse(written()[1]?.['data'] ?? '');
    expect([Date.parse(since), Date.parse(until)]).toEqual([now - 60_000, now]);
  });
});

describe('StreamKeys', () => {
  const told = {
    at: 1,
    position: new Map([['plan.created', [1, 2]]] as const),
    topicIds: new Map([['plan.created', 'a']] as const),
  };

  it('opens a position for the partner that it was told, and for no other', () => {
    const sealed = keys.sealed('partner_1', told);
    expect(keys.opened('partner_1', sealed)).toEqual(told);
    expect(keys.opened('partner_2', sealed)).toBeUndefined();
    expect(new StreamKeys(keyring()).opened('partner_1', sealed)).toBeUndefined();
    const changed = (sealed.startsWith('A') ? 'B' : 'A') + sealed.slice(1);
    expect(['', 'x', changed].map((text) => keys.opened('partner_1', text))).toEqual([undefined, undefined, undefined]);
  });

  it('has one secret for each partner', () => {
    expect(keys.secretOf('partner_1')).toBe(keys.secretOf('partner_1'));
    expect(keys.secretOf('partner_1')).not.toBe(keys.secretOf('partner_2'));
  });
});

it('a stream over more partitions than a header can hold is refused, and a stream over fewer is opened', async () => {
  const log = {
    topicIds: async (topics: string[]) => new Map(topics.map((topic) => [topic, randomUUID()])),
    bounds: async (topics: string[]) => new Map(topics.map((topic) => [topic, Array<number>(100).fill(123_456_789)])),
    fetchAll: () => new Promise(() => undefined),
    close: async () => undefined,
  } as unknown as LogFetcher;
  const config = { KAFKA_TOPIC_PREFIX: '', LISTEN_STREAMS: 5 } as IngressConfig;
  const streams = new ListenStreams(
    log,
    keys,
    config,
    { warn: () => undefined } as unknown as ThrottledLog,
    new ListenMetrics(new Registry()),
  );
  const open = (types: string[]): Promise<Listener> =>
    streams.open({ partnerId: 'partner_1', types, told: undefined, isPermitted: async () => true });
  const types = Array.from({ length: 20 }, (_, index) => `type.${index}`);
  await expect(open(types)).rejects.toMatchObject({ detail: expect.stringContaining('cannot follow 20 event types') });
  (await open(types.slice(0, 5))).stream.destroy();
  await streams.onModuleDestroy();
});
