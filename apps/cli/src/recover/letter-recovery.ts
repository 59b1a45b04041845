import { type DeadLetter, type Registrations, replayOf } from '@relay/dead-letters';
import { deliveryId } from '@relay/delivery';
import type { LogRange } from '@relay/kafka';
import type { RetryQueue } from '@relay/retry';
import { standing, type LoggedDeliveries } from './envelope-recovery.js';
import type { RecoveryLog } from './recovery-log.adapter.js';
import { readLetter } from './logged-dead-letters.js';

const KEPT_MS = 30 * 86_400_000;
/** The log still holds the attempts of replays that are younger than this; older ones ended within their 96 h. */
const REPLAYS_TOLD_MS = 7 * 86_400_000;

export interface LetterCounts {
  deadLetters: number;
  deliveries: number;
}

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
): Promise<LetterCounts> {
  const counts = { deadLetters: 0, deliveries: 0 };
  await log.read(log.deadLetters, async (_range: LogRange, messages) => {
    const adds = messages.flatMap(({ value }) => {
      const read = readLetter(value);
      if (read?.kind !== 'letter' || !isLost(read.letter.envelopeId)) return [];
      const end = logged.letters.endOf(read.id);
      if (end !== undefined) return end.at < now - REPLAYS_TOLD_MS ? [] : replays(read.letter, end.deliveries);
      if (read.letter.diedAt < now - KEPT_MS) return [];
      counts.deadLetters += 1;
      return [queue.addDeadLetter(read.letter)];
    });
    await Promise.all(adds);
    progress(messages.length);
  });
  return counts;

  function replays(letter: DeadLetter, ids: readonly string[]): Promise<void>[] {
    const plan = replayOf(letter, webhooks, now);
    if (plan.kind === 'refused') return [];
    const jobs = plan.jobs.filter((job) => {
      const id = deliveryId(job);
      return ids.includes(id) && !logged.outcomes.isFinal(id) && !logged.letters.knows(id);
    });
    counts.deliveries += jobs.length;
    return jobs.map((job) => queue.add(standing(job, logged.outcomes, now)));
  }
}
