import { setTimeout as delay } from 'node:timers/promises';
import type { EnvelopeStory } from '@relay/story';
import type { Shell } from '../shell.js';
import { linesOf } from './story-text.js';

const LOOK_MS = 1_000;

const ENDED: ReadonlySet<string> = new Set(['delivered', 'dead-letter', 'replayed', 'purged', 'cancelled']);

/** Without any delivery, an envelope has ended when it is settled: no webhook wants it. */
const hasEnded = ({ deliveries, mark }: EnvelopeStory): boolean =>
  mark !== 'published' && deliveries.every(({ state }) => ENDED.has(state));

/** Prints what is new in a story until every delivery has ended or the command is: lines, or with `--json` the whole story. */
export async function followStory(
  begun: EnvelopeStory,
  read: () => Promise<EnvelopeStory | undefined>,
  shell: Pick<Shell, 'print' | 'interrupted'>,
  { json }: { json?: boolean },
  everyMs = LOOK_MS,
): Promise<void> {
  let story = begun;
  const interruption = new AbortController();
  void shell.interrupted().then(() => interruption.abort());
  const printed = new Set(story.deliveries.flatMap(linesOf));
  while (!hasEnded(story) && !interruption.signal.aborted) {
    await delay(everyMs);
    const next = (await read()) ?? story;
    if (json === true && JSON.stringify(next) !== JSON.stringify(story)) shell.print(JSON.stringify(next));
    story = next;
    if (json === true) continue;
    for (const delivery of story.deliveries) {
      const fresh = linesOf(delivery).filter((line) => !printed.has(line));
      for (const line of fresh) printed.add(line);
      if (fresh.length > 0) shell.print(fresh.join('\n'));
    }
  }
}
