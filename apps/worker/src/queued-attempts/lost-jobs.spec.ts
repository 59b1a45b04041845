import { randomUUID } from 'node:crypto';
import { deliveryId } from '@relay/delivery';
import type { AttemptRecord } from '@relay/events';
import type { HistoryLine } from '@relay/history';
import type { FoundEnvelope, SoughtAttempts } from '@relay/kafka';
import { LostJobs } from './missing-jobs-watch.js';

const HOUR = 3_600_000;
const acceptedAt = Date.now() - HOUR;
const [webhookId, envelopeId, hash] = [randomUUID(), randomUUID(), '0123456789abcdef'];
const named = { webhookId, envelopeId, hash, series: 0, acceptedAt };
const id = deliveryId(named);
const at = (ms: number): string => new Date(ms).toISOString();
const attempt = (changes: Partial<AttemptRecord>): AttemptRecord => ({
  deliveryId: id,
  envelopeId,
  webhookId,
  partnerId: 'p1',
  eventType: 'task.created',
  at: at(acceptedAt + 5),
  outcome: 'retry',
  final: false,
  attempt: 1,
  detail: 'answered 500',
  nextAt: at(acceptedAt + 2 * HOUR),
  ...changes,
});

describe('a delivery that is counted as queued and has no job', () => {
  let isRegistered: boolean;
  let delivered: HistoryLine[];
  let existing: string[];
  let near: AttemptRecord[];
  let later: AttemptRecord[];
  let logged: string | undefined;
  let asked: SoughtAttempts[];
  beforeEach(() => {
    isRegistered = true;
    [delivered, existing, near, later, asked] = [[], [], [], [], []];
    logged = hash;
  });

  const record = (contentHash: string): FoundEnvelope => ({
    kind: 'envelope',
    topic: 'task.created',
    partition: 0,
    record: { key: null, value: null, headers: {}, offset: 3, timestamp: acceptedAt },
    envelope: {
      id: envelopeId,
      type: 'task.created',
      audience: [],
      contentHash,
      bytes: Buffer.from('{"a":1}'),
    } as never,
    acceptedAt,
    traceparent: undefined,
  });
  const lost = new LostJobs(
    {
      refresh: async () => undefined,
      find: () => (isRegistered ? ({ id: webhookId, partnerId: 'p1', eventType: 'task.created' } as never) : undefined),
    },
    { ofEnvelope: async () => delivered },
    { existing: async () => new Set(existing) },
    {
      find: async (sought) => {
        asked.push(sought);
        return sought.since === undefined ? near : later;
      },
    },
    { find: async () => (logged === undefined ? undefined : record(logged)) },
  );

  it('is made anew at its place in the schedule, with its attempts', async () => {
    near = [attempt({}), attempt({ deliveryId: 'of another', final: true })];
    const delivery = {
      at: acceptedAt + 2 * HOUR,
      job: expect.objectContaining({
        ...named,
        attempts: 1,
        acceptedAt: acceptedAt + 5,
        waitedSince: acceptedAt,
        body: '{"a":1}',
        lastFailure: 'answered 500',
      }),
    };
    expect(await lost.find(id)).toEqual({ kind: 'found', delivery });
    expect(asked).toEqual([
      { envelopeId, moments: [acceptedAt] },
      { envelopeId, moments: [], since: acceptedAt + 2 * HOUR },
    ]);
  });

  it('is due at once when no attempt of it was told', async () => {
    const found = await lost.find(id);
    expect(found).toMatchObject({ kind: 'found', delivery: { job: { attempts: 0, waitedSince: acceptedAt } } });
    expect(found.kind === 'found' && found.delivery.at).toBeLessThanOrEqual(Date.now());
  });

  it.each<[string, () => unknown]>([
    ['an attempt says so', () => (near = [attempt({ outcome: 'delivered', final: true })])],
    [
      'a later attempt says so',
      () => ((near = [attempt({})]), (later = [attempt({ outcome: 'dead-letter', final: true })])),
    ],
    ['the history says so', () => (delivered = [{ ...named, attempts: [], endedAt: 1, place: 0 }])],
    ['its webhook was deleted before an attempt', () => (isRegistered = false)],
  ])('has ended when %s', async (_name, arrange) => {
    arrange();
    expect(await lost.find(id)).toEqual({ kind: 'ended' });
  });

  it('has not ended when another delivery of the envelope has', async () => {
    delivered = [{ ...named, series: 1, attempts: [], endedAt: 1, place: 0 }];
    expect(await lost.find(id)).toMatchObject({ kind: 'found' });
  });

  it('is left alone when it has a job or dead letter, and is no delivery under another name', async () => {
    existing = [id];
    expect(await lost.find(id)).toEqual({ kind: 'stored' });
    expect(await lost.find('42')).toEqual({ kind: 'ended' });
  });

  it.each([undefined, 'ffffffffffffffff'])('has no body when the log has its content no more (%s)', async (found) => {
    logged = found;
    near = [attempt({})];
    expect(await lost.find(id)).toMatchObject({ kind: 'bodyless', delivery: { job: { attempts: 1, body: '' } } });
  });
});
