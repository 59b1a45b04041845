import { setTimeout as delay } from 'node:timers/promises';
import { anEnvelope, type Client } from './client.js';

/** What a source saw of a load: every id answered 202, and how many answers were something else on the way there. */
export interface Sent {
  readonly accepted: ReadonlySet<string>;
  readonly repeated: number;
}

/**
 * Posts envelopes over some connections. Like a source should, repeats an envelope with the same id after a 503 or a
 * broken connection until it is answered 202.
 * @param onAccepted told how many are accepted so far
 */
export async function send(
  source: Client,
  count: number,
  onAccepted: (accepted: number) => void = () => undefined,
): Promise<Sent> {
  const accepted = new Set<string>();
  let left = count;
  let repeated = 0;
  const connection = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const envelope = anEnvelope();
      for (;;) {
        const status = await source.post(envelope).then(
          (answer) => answer.status,
          () => 0,
        );
        if (status === 202) break;
        if (status !== 503 && status !== 0) throw new Error(`an envelope was answered ${status}`);
        repeated += 1;
        await delay(100);
      }
      accepted.add(envelope.id);
      onAccepted(accepted.size);
    }
  };
  await Promise.all(Array.from({ length: 32 }, connection));
  return { accepted, repeated };
}
