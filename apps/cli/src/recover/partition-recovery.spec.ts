import { randomUUID } from 'node:crypto';
import { RejectedRecords } from '@relay/dead-letters';
import { PinoLog, ThrottledLog } from '@relay/telemetry';
import { MemoryPartitionProgress, MemoryPublisher, MemoryRetryQueue, MemoryState } from '@relay/testing';
import { LoggedDeadLetters } from './logged-dead-letters.js';
import { Outcomes } from './outcomes.js';
import { PartitionRecovery } from './partition-recovery.js';

const HOUR_MS = 3_600_000;
const NOW = 1_795_350_961_144;
const webhookId = randomUUID();
const log = new ThrottledLog(new PinoLog('spec', 'silent'));

/** What a recovery stores of these records, each accepted so many hours before it. */
async function recovered(...records: { id: string; hoursAgo: number; n?: number }[]) {
  const state = new MemoryState();
  const [queue, progress] = [new MemoryRetryQueue(state), new MemoryPartitionProgress(state)];
  const recovery = new PartitionRecovery(
    { topic: 'plan.created', partition: 0 },
    {
      token: 'token',
      topicPrefix: '',
      progress,
      queue,
      rejectedRecords: new RejectedRecords(new MemoryPublisher(), queue, log),
      logged: { outcomes: new Outcomes(), letters: new LoggedDeadLetters() },
      matching: () => [{ id: webhookId, partnerId: 'p', createdAt: 0 }],
      now: () => NOW,
      windowMs: 72 * HOUR_MS,
    },
    { records: 0, deliveries: 0, alreadyFinal: 0 },
  );
  await recovery.begin(0);
  for (const [offset, { id, hoursAgo, n = 1 }] of records.entries()) {
    const value = Buffer.from(JSON.stringify({ id, type: 'plan.created', payload: { n } }));
    const timestamp = NOW - hoursAgo * HOUR_MS;
    await recovery.take([{ offset, key: null, value, headers: {}, timestamp }]);
  }
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

  it('remembers the ids of the window only, so that a source may send older ones again', async () => {
    expect((await recovered({ id, hoursAgo: 73 }, { id: other, hoursAgo: 71 })).marked).toEqual([other]);
  });
});
