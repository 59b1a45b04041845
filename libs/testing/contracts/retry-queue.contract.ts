import { randomUUID } from 'node:crypto';
import type { DeadLetter } from '@relay/dead-letters';
import { deliveryId } from '@relay/delivery';
import type { DeliveryJob } from '@relay/jobs';
import type { RetryQueue } from '@relay/retry';

/** A queue with what is in it. */
interface RetryQueueHarness {
  readonly queue: RetryQueue;
  jobs(): Promise<DeliveryJob[]>;
  deadLetters(): Promise<DeadLetter[]>;
}

const aJob = (): DeliveryJob => ({
  v: 1,
  webhookId: randomUUID(),
  partnerId: 'p1',
  envelopeId: randomUUID(),
  eventType: 'task.created',
  hash: 'aaaaaaaaaaaaaaaa',
  series: 0,
  attempts: 0,
  acceptedAt: Date.now(),
  body: '{"text":"é"}',
});
const aLetter = (): DeadLetter => ({ ...aJob(), reason: 'gone', diedAt: Date.now() });

/** Contract of every RetryQueue. `open` is called for each test and returns an empty queue. */
export function describeRetryQueue(name: string, open: () => Promise<RetryQueueHarness>): void {
  describe(`${name} as a RetryQueue`, () => {
    let harness: RetryQueueHarness;
    let queue: RetryQueue;
    beforeEach(async () => {
      harness = await open();
      queue = harness.queue;
    });
    afterEach(() => queue.close());

    it('holds a job as it was given once the add has resolved', async () => {
      const job = aJob();
      await queue.add({ job, at: Date.now() + 60_000 });
      expect(await harness.jobs()).toEqual([job]);
    });

    it('holds large bodies as they were given, each with every delivery of its envelope', async () => {
      const [one, other] = [`{"text":"${'é'.repeat(50_000)}"}`, `{"text":"${'x'.repeat(5_000)}"}`];
      const first = { ...aJob(), body: one };
      const jobs = [first, { ...first, webhookId: randomUUID() }, { ...aJob(), body: other }];
      const letter = { ...aLetter(), envelopeId: first.envelopeId, body: one };
      await Promise.all([
        ...jobs.map((job) => queue.add({ job, at: Date.now() + 60_000 })),
        queue.addDeadLetter(letter),
      ]);
      expect(await harness.jobs()).toEqual(expect.arrayContaining(jobs));
      expect(await harness.deadLetters()).toEqual([letter]);
    });

    it('holds a dead letter as it was given once it is buried', async () => {
      const letter = aLetter();
      await queue.addDeadLetter(letter);
      expect(await harness.deadLetters()).toEqual([letter]);
      expect(await harness.jobs()).toEqual([]);
    });

    it('leaves a job as it is when its id is added again', async () => {
      const [job, letter] = [aJob(), aLetter()];
      await queue.add({ job, at: Date.now() + 60_000 });
      await queue.add({ job: { ...job, attempts: 3 }, at: Date.now() });
      await queue.addDeadLetter(letter);
      await queue.addDeadLetter({ ...letter, reason: 'horizon_passed' });
      expect(await harness.jobs()).toEqual([job]);
      expect(await harness.deadLetters()).toEqual([letter]);
    });

    it('holds a job and a dead letter of a second acceptance beside those of the first', async () => {
      const [job, letter] = [aJob(), aLetter()];
      const acceptedAt = Date.now() + 1_000;
      const again = { job: { ...job, acceptedAt }, letter: { ...letter, acceptedAt, diedAt: letter.diedAt + 2_000 } };
      for (const each of [job, again.job]) await queue.add({ job: each, at: Date.now() + 60_000 });
      expect(await queue.existing([deliveryId(again.letter)])).toEqual(new Set());
      for (const each of [letter, again.letter, again.letter]) await queue.addDeadLetter(each);
      const [jobs, letters] = [await harness.jobs(), await harness.deadLetters()];
      expect([jobs.length, letters.length]).toEqual([2, 2]);
      expect(jobs).toEqual(expect.arrayContaining([job, again.job]));
      expect(letters).toEqual(expect.arrayContaining([letter, again.letter]));
      // The second one waited in the log: its first attempt is later, its acceptance is the same.
      await queue.addDeadLetter({ ...again.letter, acceptedAt: acceptedAt + 5_000, waitedSince: acceptedAt });
      expect(await harness.deadLetters()).toHaveLength(2);
    });

    it('knows which deliveries are queued or dead, and no others', async () => {
      const [job, letter, neither] = [aJob(), aLetter(), aJob()];
      await Promise.all([queue.add({ job, at: Date.now() }), queue.addDeadLetter(letter)]);
      const ids = [neither, letter, job].map(deliveryId);
      expect(await queue.existing(ids)).toEqual(new Set([deliveryId(job), deliveryId(letter)]));
      expect(await queue.existing([])).toEqual(new Set());
    });

    it('holds each of 300 jobs added at once', async () => {
      const jobs = Array.from({ length: 300 }, aJob);
      await Promise.all(jobs.map((job) => queue.add({ job, at: Date.now() + 60_000 })));
      const held = await harness.jobs();
      expect(new Set(held.map(deliveryId))).toEqual(new Set(jobs.map(deliveryId)));
      expect(held).toHaveLength(300);
    });

    it('drops dead letters of an age, and no others', async () => {
      await queue.addDeadLetter(aLetter());
      expect(await queue.purge(60_000)).toBe(0);
      // Its age is counted from its death, whenever it was stored: `recover` stores those of long ago.
      await queue.addDeadLetter({ ...aLetter(), diedAt: Date.now() - 120_000 });
      expect(await queue.purge(60_000)).toBe(1);
      expect(await queue.purge(-1_000)).toBe(1);
      expect(await harness.deadLetters()).toEqual([]);
    });
  });
}
