import type { DeadLetter, DeadLetterEnding } from '@relay/dead-letters';
import { deliveryId } from '@relay/delivery';
import { MemoryRetryQueue, MemoryState } from '@relay/testing';
import type { RecoveryLog } from './recovery-log.adapter.js';
import { endLetters, LoggedDeadLetters, Outcomes, readLetter, recoverLetters } from './logged-deliveries.js';

const NOW = 1_795_350_961_144;
const DAY_MS = 86_400_000;
const webhookId = '6f1c1c1e-8d1b-4c0b-9b1e-0a8a7c1f2d3e';
const aLetter = (diedAt: number): DeadLetter => ({
  v: 1,
  webhookId,
  partnerId: 'p',
  envelopeId: '7f1c1c1e-8d1b-4c0b-9b1e-0a8a7c1f2d3e',
  eventType: 'task.created',
  hash: '0123456789abcdef',
  series: 0,
  attempts: 10,
  acceptedAt: diedAt - DAY_MS,
  body: '{}',
  reason: 'attempts_exhausted',
  diedAt,
});
const idOf = (letter: DeadLetter): string => deliveryId(letter);
const endOf = (letter: DeadLetter, at: number, ended: DeadLetterEnding['ended'] = 'replayed'): DeadLetterEnding => ({
  v: 1,
  deliveryId: idOf(letter),
  ended,
  at,
  deliveries: ended === 'purged' ? [] : [idOf({ ...letter, series: 1 })],
});
const webhooks = { find: () => ({ partnerId: 'p' }), matching: () => [] };

/** What a recovery puts into an empty queue of these records. */
async function recovered(
  records: readonly (DeadLetter | DeadLetterEnding)[],
  isLost: (envelopeId: string) => boolean = () => true,
): Promise<{ jobs: string[]; letters: string[] }> {
  const messages = records.map((record) => ({ value: Buffer.from(JSON.stringify(record)) }));
  const letters = new LoggedDeadLetters();
  for (const { value } of messages) {
    const read = readLetter(value);
    if (read !== undefined) letters.take(read);
  }
  const range = { topic: 'relay.dead-letters', partition: 0, from: 0, end: messages.length };
  const log = {
    deadLetters: [range],
    read: async (_: unknown, take: (...args: unknown[]) => unknown) => take(range, messages),
  };
  const state = new MemoryState();
  const logged = { outcomes: new Outcomes(), letters };
  await recoverLetters(
    log as unknown as RecoveryLog,
    logged,
    new MemoryRetryQueue(state),
    webhooks,
    { now: NOW, isLost },
    () => undefined,
  );
  return { jobs: [...state.now.jobs.keys()], letters: [...state.now.deadLetters.keys()] };
}

describe('the recovery of dead letters', () => {
  const letter = aLetter(NOW - 20 * DAY_MS);

  it('puts back what nobody has ended', async () => {
    expect(await recovered([letter])).toEqual({ jobs: [], letters: [idOf(letter)] });
  });

  it('leaves alone the dead letters of a shard that was not lost, and their replays', async () => {
    const isLost = (envelopeId: string): boolean => envelopeId !== letter.envelopeId;
    const other = { ...letter, envelopeId: '8f1c1c1e-8d1b-4c0b-9b1e-0a8a7c1f2d3e' };
    expect(await recovered([letter, other], isLost)).toEqual({ jobs: [], letters: [idOf(other)] });
    expect(await recovered([letter, endOf(letter, NOW - DAY_MS)], isLost)).toEqual({ jobs: [], letters: [] });
  });

  it('leaves out dead letters that have expired or were purged', async () => {
    expect(await recovered([aLetter(NOW - 31 * DAY_MS)])).toEqual({ jobs: [], letters: [] });
    expect(await recovered([letter, endOf(letter, NOW - DAY_MS, 'purged')])).toEqual({ jobs: [], letters: [] });
  });

  it('makes the deliveries of a replay that have no logged end again', async () => {
    const jobs = [idOf({ ...letter, series: 1 })];
    expect(await recovered([letter, endOf(letter, NOW - 6 * DAY_MS)])).toEqual({ jobs, letters: [] });
  });

  it('counts an end for the dead letter of its acceptance only', async () => {
    const again = { ...letter, acceptedAt: letter.acceptedAt + 5 * DAY_MS, diedAt: NOW - DAY_MS };
    const put = await recovered([letter, endOf(letter, NOW - 8 * DAY_MS, 'purged'), again]);
    expect(put).toEqual({ jobs: [], letters: [idOf(again)] });
    expect((await recovered([letter, again])).letters).toEqual([idOf(letter), idOf(again)]);
  });

  it('leaves out a replay that is older than the attempts in the log: its deliveries have ended', async () => {
    expect(await recovered([letter, endOf(letter, NOW - 8 * DAY_MS)])).toEqual({ jobs: [], letters: [] });
  });
});

/** What ends of these letters, all of which an older copy of Redis has. */
async function endedOf(letters: readonly DeadLetter[], ends: readonly DeadLetterEnding[], find = webhooks.find) {
  const told = new LoggedDeadLetters();
  for (const record of [...letters, ...ends]) {
    const read = readLetter(Buffer.from(JSON.stringify(record)));
    if (read !== undefined) told.take(read);
  }
  const found = letters.map((letter) => ({ id: idOf(letter), stored: letter, letter }));
  const removed: string[] = [];
  const reader = {
    ids: async () => found.map(({ id }) => id),
    read: async function* () {
      yield found;
    },
    withBody: async ({ id }: { id: string }) => found.find((each) => each.id === id)!.letter,
    remove: async (gone: readonly { id: string }[]) => removed.push(...gone.map(({ id }) => id)),
  };
  const state = new MemoryState();
  const logged = { outcomes: new Outcomes(), letters: told };
  await endLetters(reader, logged, new MemoryRetryQueue(state), { ...webhooks, find }, NOW);
  return { removed, jobs: [...state.now.jobs.keys()] };
}

describe('the end of dead letters that an older copy of Redis brings back', () => {
  const [replayed, purged, left] = [1, 2, 3].map((days) => aLetter(NOW - days * DAY_MS)) as [
    DeadLetter,
    DeadLetter,
    DeadLetter,
  ];
  const ends = [endOf(replayed, NOW - 1), endOf(purged, NOW - 1, 'purged')];

  it('removes those that were replayed or purged, and makes the replay again', async () => {
    expect(await endedOf([replayed, purged, left], ends)).toEqual({
      removed: [idOf(replayed), idOf(purged)],
      jobs: [idOf({ ...replayed, series: 1 })],
    });
  });

  it('keeps one whose replay cannot be made again, because its webhook is gone', async () => {
    const { removed, jobs } = await endedOf([replayed, purged], ends, () => undefined as never);
    expect([removed, jobs]).toEqual([[idOf(purged)], []]);
  });
});
