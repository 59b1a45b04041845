import {
  type DeadLetter,
  type DeadLetterEnding,
  type DeadLetterReader,
  type FoundDeadLetter,
  type Registrations,
  replayOf,
} from '@relay/dead-letters';
import { deliveryId } from '@relay/delivery';
import type { LogRange } from '@relay/kafka';
import type { QueuedDelivery } from '@relay/jobs';
import { standing, type RetryQueue } from '@relay/retry';
import type { RecoveryLog } from './recovery-log.adapter.js';
import { type LoggedDeliveries, readLetter } from './logged-deliveries.js';

const KEPT_MS = 30 * 86_400_000;
/** The log still holds the attempts of replays that are younger than this; older ones ended within their 96 h. */
const REPLAYS_TOLD_MS = 7 * 86_400_000;

/**
 * Restores the dead letters that no operator ended, and the deliveries of replays without a final outcome.
 * `logged.letters` must hold the whole topic.
 * @param isLost whether the shard of an envelope is recovered: what is of another one is there, and may have gone on
 */
export async function recoverLetters(
  log: RecoveryLog,
  logged: LoggedDeliveries,
  queue: RetryQueue,
  webhooks: Registrations,
  { now, isLost }: { readonly now: number; readonly isLost: (envelopeId: string) => boolean },
  progress: (records: number) => void,
): Promise<{ deadLetters: number; deliveries: number }> {
  const counts = { deadLetters: 0, deliveries: 0 };
  await log.read(log.deadLetters, async (_range: LogRange, messages) => {
    const adds = messages.flatMap(({ value }) => {
      const read = readLetter(value);
      if (read?.kind !== 'letter' || !isLost(read.letter.envelopeId)) return [];
      const end = logged.letters.endOf(read.id);
      if (end !== undefined) {
        const jobs = replaysOf(read.letter, end, logged, webhooks, now) ?? [];
        counts.deliveries += jobs.length;
        return jobs.map((job) => queue.add(job));
      }
      if (read.letter.diedAt < now - KEPT_MS) return [];
      counts.deadLetters += 1;
      return [queue.addDeadLetter(read.letter)];
    });
    await Promise.all(adds);
    progress(messages.length);
  });
  return counts;
}

/**
 * Ends the dead letters in Redis that an operator has ended, which a copy of Redis from before brings back. Deliveries of replays
 * without a final outcome are made again; a dead letter whose replay cannot be made again stays. `logged` must hold both topics.
 */
export async function endLetters(
  reader: Pick<DeadLetterReader, 'ids' | 'read' | 'withBody' | 'remove'>,
  logged: LoggedDeliveries,
  queue: RetryQueue,
  webhooks: Registrations,
  now: number,
): Promise<{ ended: number; deliveries: number }> {
  const counts = { ended: 0, deliveries: 0 };
  for await (const slice of reader.read(await reader.ids())) {
    const ended: FoundDeadLetter[] = [];
    for (const letter of slice) {
      const end = logged.letters.endOf(letter.id);
      if (end === undefined) continue;
      const jobs = replaysOf(await reader.withBody(letter), end, logged, webhooks, now);
      if (jobs === undefined) continue;
      await Promise.all(jobs.map((job) => queue.add(job)));
      counts.deliveries += jobs.length;
      ended.push(letter);
    }
    counts.ended += await reader.remove(ended);
  }
  return counts;
}

/** The deliveries of a replay that have no final outcome; undefined when they cannot be made. */
function replaysOf(
  letter: DeadLetter,
  end: DeadLetterEnding,
  { letters, outcomes }: LoggedDeliveries,
  webhooks: Registrations,
  now: number,
): QueuedDelivery[] | undefined {
  if (end.ended === 'purged' || end.at < now - REPLAYS_TOLD_MS) return [];
  const plan = replayOf(letter, webhooks, now);
  if (plan.kind === 'refused') return undefined;
  return plan.jobs
    .filter((job) => {
      const id = deliveryId(job);
      return end.deliveries.includes(id) && !outcomes.isFinal(id) && !letters.knows(id);
    })
    .map((job) => standing(job, outcomes.standingOf(deliveryId(job)), now));
}
