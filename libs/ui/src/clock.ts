/** Answers name whole seconds, and take a moment: a clock that is no further off is right. */
const RIGHT_MS = 5_000;

let aheadMs = 0;

/** Learns from an answer how far the reader's clock is ahead of the relay's. */
export function learnClock(headers: Headers): void {
  const at = Date.parse(headers.get('date') ?? '');
  if (Number.isNaN(at)) return;
  const ahead = Date.now() - at;
  aheadMs = Math.abs(ahead) > RIGHT_MS ? ahead : 0;
}

/** Epoch milliseconds by the relay's clock: what it recorded is compared with nothing else. */
export const relayNow = (): number => Date.now() - aheadMs;
