import { type DeadLetterFacts, deadLetterFacts, DeadLetterReader } from '@relay/dead-letters';
import type { Shards } from '@relay/redis';

/** Every dead letter, oldest first. */
export async function deadLettersIn(shards: Shards): Promise<DeadLetterFacts[]> {
  const reader = new DeadLetterReader(shards);
  const found: DeadLetterFacts[] = [];
  try {
    for await (const slice of reader.read(await reader.ids())) found.push(...slice.map(deadLetterFacts));
    return found;
  } finally {
    await reader.close();
  }
}
