/** What opens a door for a time. */
export interface Pass {
  readonly value: string;
  readonly livesMs: number;
}

/**
 * Asks a source for a pass and gives it to all who ask in the first half of its life; the next one is for the others. Half of it
 * is left to whoever has it last. Who asks while the source answers waits for the same answer; a fault is told to these alone.
 * @param now milliseconds of a clock
 */
export function halfLived(source: () => Promise<Pass>, now: () => number): () => Promise<string> {
  let last: Promise<Pass> | undefined;
  let renewedAt = Infinity;
  const ask = async (): Promise<Pass> => {
    try {
      const pass = await source();
      renewedAt = now() + pass.livesMs / 2;
      return pass;
    } catch (error) {
      last = undefined;
      throw error;
    }
  };
  return async () => {
    if (last === undefined || now() >= renewedAt) {
      renewedAt = Infinity;
      last = ask();
    }
    return (await last).value;
  };
}
