import { fault, ok, type Finding } from './finding.js';

/** Much less than the 30 s at which a worker takes no work. */
const BEARABLE_MS = 5_000;

/** @param aheadMs by how much Redis' clock is ahead of this machine's */
export function clockFinding(aheadMs: number): Finding {
  const seconds = Math.round(Math.abs(aheadMs) / 1_000);
  if (Math.abs(aheadMs) < BEARABLE_MS) return ok('clock', `within ${Math.max(1, seconds)} s of that of Redis`);
  return fault(
    'clock',
    `${seconds} s ${aheadMs > 0 ? 'behind' : 'ahead of'} that of Redis: all processes work by Redis' time, and a worker on a host that is 30 s off takes no work`,
    'synchronise the clocks of all machines by NTP, such as with chrony; the doctor compares the one it runs on',
  );
}
