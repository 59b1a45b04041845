import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { EVENT_TYPES, readEnvelope, type AcceptedEnvelope } from '@relay/events';
import { PublishFailed } from '@relay/publishing';
import { ThrottledLog, type Log } from '@relay/telemetry';
import { MemoryPublisher, MemorySeenStore } from '@relay/testing';
import { Registry } from 'prom-client';
import { Acceptance, IngressMetrics, RememberedIds, type Verdict } from './acceptance.js';

const silent: Log = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };
const sender = { clientId: 'source_1', traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
const ACCEPTED_AT = Date.UTC(2026, 0, 2);

function open(waitMs = 250) {
  const log = new MemoryPublisher();
  for (const type of EVENT_TYPES) log.createTopic(`x.${type}`);
  const store = new MemorySeenStore();
  const repeats: string[] = [];
  const remembered = new RememberedIds(
    store,
    new ThrottledLog(silent),
    { count: (id, kind) => void repeats.push(`${kind} ${id}`) },
    waitMs,
  );
  const config = { KAFKA_TOPIC_PREFIX: 'x.', PUBLIC_URL: 'https://relay.example' };
  const acceptance = new Acceptance(log, remembered, new IngressMetrics(new Registry()), config);
  const accept = (envelope: AcceptedEnvelope): Promise<Verdict> => acceptance.accept(envelope, sender);
  return { log, store, repeats, accept, stored: () => log.read('x.plan.created') };
}

function anEnvelope(id: string = randomUUID(), n = 1, audience: string[] = []): AcceptedEnvelope {
  const bytes = Buffer.from(` {"id":"${id}","type":"plan.created","payload":{"n":${n}.10}}`);
  const result = readEnvelope(bytes, audience);
  if (!result.ok) throw new Error(JSON.stringify(result.errors));
  return result.envelope;
}

/** A promise that is kept by hand. */
function aGate(): { gate: Promise<void>; lift: () => void } {
  const lifted = new AbortController();
  const gate = new Promise<void>((resolve) => lifted.signal.addEventListener('abort', () => resolve()));
  return { gate, lift: () => lifted.abort() };
}

/** Lets everything that can happen now happen. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
};

describe('acceptance', () => {
  it('counts what came again, whether its first record is under way or marked', async () => {
    const { accept, repeats } = open();
    const [first, other] = [anEnvelope(), anEnvelope(undefined, 2)];
    const conflict = anEnvelope(first.id, 3);
    await Promise.all([accept(first), accept(first), accept(conflict)]);
    expect(repeats.toSorted()).toEqual([`conflict ${first.id}`, `duplicate ${first.id}`]);
    await turn();
    expect([await accept(first), await accept(conflict), await accept(other)]).toEqual([
      'duplicate',
      'conflict',
      'accepted',
    ]);
    expect(repeats).toHaveLength(4);
  });

  it('stores the received bytes under their key with the headers of the envelope', async () => {
    const { accept, stored } = open();
    const envelope = anEnvelope(undefined, 1, ['p1', 'p2']);
    const clock = jest.spyOn(Date, 'now').mockReturnValue(ACCEPTED_AT);
    expect(await accept(envelope)).toBe('accepted');
    clock.mockRestore();
    expect(stored()).toEqual([
      {
        partition: 0,
        key: envelope.id,
        value: envelope.bytes,
        headers: {
          ce_specversion: '1.0',
          ce_id: envelope.id,
          ce_type: 'plan.created',
          ce_source: 'https://relay.example',
          ce_time: '2026-01-02T00:00:00.000Z',
          'content-type': 'application/json',
          'relay-source': 'source_1',
          'relay-partner': 'p1,p2',
          traceparent: sender.traceparent,
        },
      },
    ]);
  });

  it.each([
    ['at once', false],
    ['when the mark is written', true],
  ])('tells a repeat from other content or another audience, %s', async (_, isLater) => {
    const { accept, store, stored } = open();
    const envelope = anEnvelope();
    await accept(envelope);
    if (isLater) await until(() => store.calls.markPublished === 1);
    expect(await accept(anEnvelope(envelope.id))).toBe('duplicate');
    expect(await accept(anEnvelope(envelope.id, 2))).toBe('conflict');
    expect(await accept(anEnvelope(envelope.id, 1, ['p1']))).toBe('conflict');
    expect(stored()).toHaveLength(1);
  });

  it('makes one record of 100 parallel posts, the others answered after its acknowledgement', async () => {
    const { accept, log, stored } = open();
    const { gate, lift } = aGate();
    log.gate = gate;
    const envelope = anEnvelope();
    let answered = 0;
    const verdicts = Array.from({ length: 100 }, () => accept(envelope).finally(() => (answered += 1)));
    const other = accept(anEnvelope(envelope.id, 2)).finally(() => (answered += 1));
    await turn();
    expect(answered).toBe(0);
    lift();
    expect((await Promise.all(verdicts)).toSorted()).toEqual([
      'accepted',
      ...Array.from({ length: 99 }, () => 'duplicate'),
    ]);
    expect(await other).toBe('conflict');
    expect(stored()).toHaveLength(1);
  });

  it('knows after a look-up what another process has accepted', async () => {
    const { accept, store, stored } = open();
    const envelope = anEnvelope();
    await store.markPublished([{ id: envelope.id, hash: envelope.contentHash }]);
    const [same, other] = await Promise.all([accept(envelope), accept(anEnvelope(envelope.id, 2))]);
    expect([same, other]).toEqual(['duplicate', 'conflict']);
    const [otherFirst, sameSecond] = await Promise.all([accept(anEnvelope(envelope.id, 2)), accept(envelope)]);
    expect([otherFirst, sameSecond]).toEqual(['conflict', 'duplicate']);
    expect(stored()).toHaveLength(0);
  });

  it('fails all that wait for a record without acknowledgement, remembers nothing, and takes the repeat', async () => {
    const { accept, log, store } = open();
    const envelope = anEnvelope();
    log.failure = new PublishFailed('unavailable', 'away');
    const both = await Promise.allSettled([accept(envelope), accept(envelope)]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(store.calls.markPublished).toBe(0);
    log.failure = undefined;
    expect(await accept(anEnvelope(envelope.id, 2))).toBe('accepted');
  });

  it('lets other content have its own try when the one under way fails', async () => {
    const { accept, log } = open();
    const envelope = anEnvelope();
    const { gate, lift } = aGate();
    log.gate = gate;
    log.failure = new PublishFailed('unavailable', 'away');
    const first = accept(envelope).catch(() => (log.failure = undefined));
    const second = accept(anEnvelope(envelope.id, 2));
    lift();
    await first;
    expect(await second).toBe('accepted');
  });

  it('goes on without a store that is away, and still knows what is under way', async () => {
    const { accept, store, stored } = open();
    store.failure = new Error('connection refused');
    const envelope = anEnvelope();
    expect(await Promise.all([accept(envelope), accept(envelope)])).toEqual(['accepted', 'duplicate']);
    await until(() => store.calls.markPublished === 1);
    await turn();
    expect(await accept(envelope)).toBe('accepted');
    expect(stored()).toHaveLength(2);
  });

  it('waits for a store that hangs once, not for every envelope, and asks it again when it answers', async () => {
    const { accept, store } = open(500);
    const { gate, lift } = aGate();
    store.gate = gate;
    expect(await accept(anEnvelope())).toBe('accepted');
    // Whoever waits for the store as well is later than this.
    const late = delay(490, 'late', { ref: false });
    for (let n = 0; n < 20; n += 1) expect(await Promise.race([accept(anEnvelope()), late])).toBe('accepted');
    expect(store.calls.find).toBe(1);
    lift();
    store.gate = undefined;
    await turn();
    await accept(anEnvelope());
    expect(store.calls.find).toBe(2);
  });

  it('asks and tells the store in batches', async () => {
    const { accept, store } = open();
    await Promise.all(Array.from({ length: 150 }, () => accept(anEnvelope())));
    expect(store.calls.find).toBe(1);
    expect(store.calls.markPublished).toBeLessThan(5);
  });
});
