import { setTimeout as delay } from 'node:timers/promises';

type Truthy<T> = Exclude<T, false | '' | 0 | null | undefined>;

/**
 * Polls until the condition gives something true, and returns it.
 * @param what completes "waited … until": it is what a failed test shows, with what `seen` returns
 * @throws Error after `withinMs`
 */
export async function until<T>(
  what: string,
  condition: () => T | Promise<T>,
  { withinMs = 180_000, seen }: { withinMs?: number; seen?: () => unknown } = {},
): Promise<Truthy<T>> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const value = await condition();
    if (value) return value as Truthy<T>;
    const left = deadline - performance.now();
    if (left < 0) break;
    // Often at first, then seldom: polling takes time from other specs.
    await delay(withinMs - left < 500 ? 20 : 60);
  }
  const last = seen === undefined ? '' : `\nlast seen: ${JSON.stringify(await seen(), undefined, 2)}`;
  throw new Error(`waited ${withinMs} ms in vain until ${what}${last}`);
}
