import { fault, ok, type Finding } from './finding.js';

/** Tokens, signatures and due times tolerate a few seconds; verification at partners allows five minutes. */
const BEARABLE_MS = 5_000;

/** @param aheadMs by how much Redis' clock is ahead of this machine's */
export function clockFinding(aheadMs: number): Finding {
  const seconds = Math.round(Math.abs(aheadMs) / 1_000);
  if (Math.abs(aheadMs) < BEARABLE_MS) return ok('clock', `within ${Math.max(1, seconds)} s of that of Redis`);
  return fault(
    'clock',
    `${seconds} s ${aheadMs > 0 ? 'behind' : 'ahead of'} that of Redis: retries come at the wrong time, and tokens and signatures may be refused`,
    'synchronise the clocks of all machines by NTP, such as with chrony; the doctor compares the one it runs on',
  );
}
