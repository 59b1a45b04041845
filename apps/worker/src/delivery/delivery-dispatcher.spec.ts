import { fairLimits } from '@relay/admission';
import type { EnvelopeRecord } from '@relay/events';
import { ThrottledLog } from '@relay/telemetry';
import { MemoryRetryQueue, MemoryState } from '@relay/testing';
import type { OpenedWebhook, Webhook } from '@relay/webhooks';
import type { Attempted } from './attempt-reports.js';
import { AttemptRule } from './delivery-dispatcher.js';
import { aDispatcher } from './spec-dispatcher.js';

const say = (): void => undefined;
const settle = say;
const OPENED: OpenedWebhook = { credential: () => ({ kind: 'apiKey', apiKey: 'k' }), secrets: () => [] };
const webhook = {
  id: 'w1',
  version: 1,
  partnerId: 'p',
  endpoint: 'p https://a',
  opened: () => Promise.resolve(OPENED),
} as Partial<Webhook> as Webhook;
const loopTurn = (): Promise<void> => new Promise(setImmediate);
const record = {
  acceptedAt: 0,
  envelope: { id: 'e1', type: 'task.created', contentHash: 'h', bytes: Buffer.from('{}') },
} as EnvelopeRecord;
const DELIVERED: Attempted = {
  disposition: { kind: 'delivered' },
  durationMs: 1,
  failure: undefined,
  tries: [],
  failed: false,
  reach: 'answered',
  notBefore: undefined,
};

/** With room for one delivery; each attempt ends when told. */
function aBusyDispatcher() {
  const attempts: (() => void)[] = [];
  const make = (): Promise<Attempted> => new Promise((resolve) => attempts.push(() => resolve(DELIVERED)));
  const log = new ThrottledLog({ warn: say, error: say, info: say, debug: say });
  const state = new MemoryState();
  const queue = new MemoryRetryQueue(state);
  const limits = fairLimits(8, 8);
  const { dispatcher } = aDispatcher({ limits, bounds: { load: 1, waiting: 1 }, attempts: { make }, queue, log });
  return { dispatcher, attempts, state };
}

describe('a reader that waits for room', () => {
  it('is woken one after the other while a running delivery is left to wake the next', async () => {
    const { dispatcher, attempts } = aBusyDispatcher();
    dispatcher.dispatch({ webhook, record, settle });
    const woken: number[] = [];
    const waits = async (n: number): Promise<void> => {
      await dispatcher.room();
      woken.push(n);
      dispatcher.dispatch({ webhook, record, settle });
    };
    for (const n of [1, 2]) void waits(n);
    await loopTurn();
    attempts.shift()?.();
    await loopTurn();
    expect(woken.length).toBeGreaterThan(0);
    while (attempts.length > 0) {
      attempts.shift()?.();
      await loopTurn();
    }
    expect(woken).toEqual([1, 2]);
  });

  it('is woken with all others when nothing runs, because a woken reader may dispatch nothing', async () => {
    const { dispatcher, attempts } = aBusyDispatcher();
    dispatcher.dispatch({ webhook, record, settle });
    const rooms = Promise.all([dispatcher.room(), dispatcher.room(), dispatcher.room()]);
    await loopTurn();
    attempts.shift()?.();
    await rooms;
    expect(dispatcher.room()).toBeUndefined();
  });
});

it('the dispatcher counts its idle time from the last live delivery, whatever is caught up meanwhile', () => {
  const { dispatcher } = aBusyDispatcher();
  dispatcher.dispatch({ webhook, record, isCaughtUp: true, settle });
  expect(dispatcher.idleMs).toBe(Infinity);
  dispatcher.dispatch({ webhook, record, settle });
  expect(dispatcher.idleMs).toBeLessThan(60_000);
});

describe('a delivery that waits for its endpoint', () => {
  /** One slot, which the first delivery has; the second one waits for it. */
  async function twoForOneSlot() {
    const made: string[] = [];
    let end: (attempted: Attempted) => void = say;
    const make = (_: Webhook, _opened: OpenedWebhook, { envelopeId }: { envelopeId: string }): Promise<Attempted> => {
      made.push(envelopeId);
      return new Promise((resolve) => (end = resolve));
    };
    let restsUntil: number | undefined;
    let isCurrent = true;
    const breakers = {
      lookAgainAt: () => restsUntil,
      ended: (_: unknown, { notBefore }: { notBefore: number | undefined }) => {
        restsUntil = notBefore;
        return false;
      },
    };
    const state = new MemoryState();
    const queue = new MemoryRetryQueue(state);
    const log = new ThrottledLog({ warn: say, error: say, info: say, debug: say });
    const limits = fairLimits(1, 1);
    const registered = { find: () => (isCurrent ? webhook : undefined) };
    const rule = new AttemptRule(registered, breakers, { notBefore: () => undefined });
    const bounds = { load: 9, waiting: 9 };
    const { dispatcher } = aDispatcher({ limits, bounds, attempts: { make }, queue, log, breakers, rule });
    const of = (id: string): EnvelopeRecord => ({ ...record, envelope: { ...record.envelope, id } });
    for (const id of ['first', 'second']) dispatcher.dispatch({ webhook, record: of(id), settle });
    await loopTurn();
    const ended = async (attempted: Attempted): Promise<void> => {
      end(attempted);
      await loopTurn();
    };
    const queued = (): string[] => [...state.now.jobs.values()].map(({ envelopeId }) => envelopeId);
    return { made, ended, queued, change: () => (isCurrent = false) };
  }

  it('gets the slot of the one before', async () => {
    const { made, ended } = await twoForOneSlot();
    expect(made).toEqual(['first']);
    await ended(DELIVERED);
    expect(made).toEqual(['first', 'second']);
  });

  it('is not attempted once the answer to the one before asked for rest', async () => {
    const { made, ended, queued } = await twoForOneSlot();
    const notBefore = Date.now() + 60_000;
    await ended({ ...DELIVERED, disposition: { kind: 'retry', at: notBefore }, failed: true, notBefore });
    expect(made).toEqual(['first']);
    expect(queued().toSorted()).toEqual(['first', 'second']);
  });

  it('becomes a job in a quarter of a second even if the clock is set back by hours', async () => {
    const { made, queued } = await twoForOneSlot();
    const real = Date.now;
    Date.now = () => real() - 7_200_000;
    try {
      await new Promise((resolve) => setTimeout(resolve, 700));
    } finally {
      Date.now = real;
    }
    expect(made).toEqual(['first']);
    expect(queued()).toEqual(['second']);
  });

  it('becomes a job, which reads the registration again, when that was changed or deleted meanwhile', async () => {
    const { made, ended, queued, change } = await twoForOneSlot();
    change();
    await ended(DELIVERED);
    expect(made).toEqual(['first']);
    expect(queued()).toEqual(['second']);
  });
});

it('a delivery whose credential cannot be read becomes a job without an attempt, and gives its slot back', async () => {
  const { dispatcher, attempts, state } = aBusyDispatcher();
  const opened = (): Promise<never> => Promise.reject(new Error('Redis is away'));
  dispatcher.dispatch({ webhook: { ...webhook, opened }, record, settle });
  await loopTurn();
  expect(attempts).toEqual([]);
  expect([...state.now.jobs.values()].map(({ attempts: made }) => made)).toEqual([0]);
  expect(dispatcher.load).toBe(0);
  dispatcher.dispatch({ webhook, record, settle });
  await loopTurn();
  expect(attempts).toHaveLength(1);
});

it('a delivery whose attempt throws becomes a dead letter, gives its slot back and lets the next one run', async () => {
  const log = new ThrottledLog({ warn: say, error: say, info: say, debug: say });
  const state = new MemoryState();
  const make = (): Promise<Attempted> => Promise.reject(new Error('a fault of ours'));
  const parts = { limits: fairLimits(1, 1), bounds: { load: 1, waiting: 1 }, queue: new MemoryRetryQueue(state), log };
  const { dispatcher, slots } = aDispatcher({ ...parts, attempts: { make } });
  for (const id of ['e1', 'e2']) {
    const settled = new Promise((resolve) => {
      const { envelope } = record;
      dispatcher.dispatch({ webhook, record: { ...record, envelope: { ...envelope, id } }, settle: resolve });
    });
    await expect(settled).resolves.toBeInstanceOf(Function);
  }
  expect([...state.now.deadLetters.values()]).toMatchObject(
    ['e1', 'e2'].map((envelopeId) => ({ envelopeId, reason: 'handling_failed', lastFailure: 'a fault of ours' })),
  );
  expect(slots.take(webhook)).toMatchObject({ taken: true });
});
