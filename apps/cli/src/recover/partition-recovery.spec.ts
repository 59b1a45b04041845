import { randomUUID } from 'node:crypto';
import { RejectedRecords } from '@relay/dead-letters';
import type { LogRecord } from '@relay/events';
import { PinoLog, ThrottledLog } from '@relay/telemetry';
import { MemoryPartitionProgress, MemoryPublisher, MemoryRetryQueue, MemoryState } from '@relay/testing';
import { PartitionRecovery } from './partition-recovery.js';
import { LoggedDeadLetters, Outcomes } from './logged-deliveries.js';

const HOUR_MS = 3_600_000;
const NOW = 1_795_350_961_144;
const webhookId = randomUUID();
const POISON = 'plan.created.dlq';
const log = new ThrottledLog(new PinoLog('spec', 'silent'));

/** A recovery of a shard, and where it stands; ids without a shard of their own are of shard 0. */
function recoveryIn(state: MemoryState, shard = 0, shardOf: ReadonlyMap<string, number> = new Map(), topicId?: string) {
  const [queue, progress] = [new MemoryRetryQueue(state), new MemoryPartitionProgress(state)];
  const counts = { records: 0, deliveries: 0, alreadyFinal: 0 };
  const publisher = new MemoryPublisher();
  publisher.createTopic(POISON);
  const recovery = new PartitionRecovery(
    { topic: 'plan.created', partition: 0, shard },
    {
      token: 'token',
      topicPrefix: '',
      topicId,
      shardOf: (envelopeId) => shardOf.get(envelopeId) ?? 0,
      progress,
      queue,
      rejectedRecords: new RejectedRecords(publisher, queue, log),
      logged: { outcomes: new Outcomes(), letters: new LoggedDeadLetters() },
      matching: () => [{ id: webhookId, partnerId: 'p', createdAt: 0 }],
      now: () => NOW,
      windowMs: 72 * HOUR_MS,
    },
    counts,
  );
  return { recovery, counts, poison: () => publisher.read(POISON).length };
}

const recordOf = (offset: number, id: string, hoursAgo: number, n = 1): LogRecord => {
  const value = Buffer.from(JSON.stringify({ id, type: 'plan.created', payload: { n } }));
  return { offset, key: null, value, headers: {}, timestamp: NOW - hoursAgo * HOUR_MS };
};

/** What a recovery stores of these records, each accepted so many hours before it. */
async function recovered(...records: { id: string; hoursAgo: number; n?: number }[]) {
  const state = new MemoryState();
  const { recovery } = recoveryIn(state);
  await recovery.begin(0);
  for (const [offset, { id, hoursAgo, n }] of records.entries())
    await recovery.take([recordOf(offset, id, hoursAgo, n)]);
  await recovery.finish(records.length);
  const { jobs, deadLetters, marks } = state.now;
  return {
    jobs: [...jobs.values()].map(({ waitedSince = 0 }) => (NOW - waitedSince) / HOUR_MS),
    letters: [...deadLetters.values()].map(({ reason }) => reason),
    marked: [...marks.keys()],
  };
}

describe('the recovery of a partition', () => {
  const [id, other] = [randomUUID(), randomUUID()];

  it.each([
    ['days ago', 160],
    ['within the window', 60],
  ])('delivers once what was accepted %s and repeated while its id was remembered', async (_, hoursAgo) => {
    const repeats = [hoursAgo, hoursAgo - 1, hoursAgo - 40].map((at) => ({ id, hoursAgo: at }));
    expect((await recovered(...repeats)).jobs).toEqual([hoursAgo]);
  });

  it('delivers once what was repeated within the window, though only the repeat is as young as that', async () => {
    expect((await recovered({ id, hoursAgo: 80 }, { id, hoursAgo: 70 })).jobs).toEqual([80]);
  });

  it('delivers each acceptance of an id that was sent again after the window', async () => {
    const thrice = [160, 80, 1].map((hoursAgo) => ({ id, hoursAgo }));
    expect((await recovered(...thrice)).jobs).toEqual([160, 80, 1]);
  });

  it('takes another content after the window for an acceptance, within it for a conflict', async () => {
    const late = await recovered({ id, hoursAgo: 80 }, { id, hoursAgo: 1, n: 2 });
    expect([late.jobs, late.letters]).toEqual([[80, 1], []]);
    const early = await recovered({ id, hoursAgo: 60 }, { id, hoursAgo: 1, n: 2 });
    expect([early.jobs, early.letters]).toEqual([[60], ['id_conflict']]);
  });

  it('takes every record of a topic that was created anew after the recovery that went before was killed', async () => {
    const state = new MemoryState();
    const { recovery: killed } = recoveryIn(state, 0, undefined, 'its first id');
    await killed.begin(0);
    await killed.take([recordOf(7, id, 1)]);
    const { recovery } = recoveryIn(state, 0, undefined, 'its second id');
    expect(await recovery.begin(0)).toBe(0);
    await recovery.take([recordOf(0, other, 1)]);
    await recovery.finish(1);
    expect([...state.now.jobs.values()].map(({ envelopeId }) => envelopeId)).toEqual([id, other]);
    expect(state.now.marks.has(other)).toBe(true);
  });

  it('takes the records of its shard only, from the high water of the shard, and passes all others', async () => {
    const [own, its, foreign] = [randomUUID(), randomUUID(), randomUUID()];
    const shardOf = new Map([own, its].map((each) => [each, 1]));
    const state = new MemoryState();
    const broken: LogRecord = { ...recordOf(3, id, 1), value: null };
    const records = [recordOf(0, own, 3), recordOf(1, foreign, 3), recordOf(2, its, 3), broken];
    const first = recoveryIn(state, 1, shardOf);
    expect(await first.recovery.begin(0)).toBe(0);
    await first.recovery.take(records.slice(0, 2));
    const { recovery, counts, poison } = recoveryIn(state, 1, shardOf);
    expect(await recovery.begin(0)).toBe(2);
    await recovery.take(records);
    await recovery.finish(records.length);
    expect([...state.now.jobs.values()].map(({ envelopeId }) => envelopeId)).toEqual([own, its]);
    expect([[...state.now.marks.keys()], counts.records, poison()]).toEqual([[own, its], 1, 0]);
    expect(state.now.progress.get('plan.created/0/1')).toMatchObject({ highWater: 4, owner: '' });
  });

  it('remembers the ids of the window only, so that a source may send older ones again', async () => {
    expect((await recovered({ id, hoursAgo: 73 }, { id: other, hoursAgo: 71 })).marked).toEqual([other]);
  });
});
