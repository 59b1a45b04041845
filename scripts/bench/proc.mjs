// CPU time, memory and age of a process. Only /proc has all three for a process that is no child.
import { existsSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { Fault } from '../lib/process.mjs';

const TICK_MS = 10; // USER_HZ is 100 on every architecture that Node runs on

export function requireProc() {
  if (!existsSync('/proc/self/stat')) throw new Fault('the benchmark reads CPU time from /proc, which only Linux has');
}

// proc_pid_stat(5): the fields behind the name, which may hold anything, start with the third.
function stat(pid) {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (number) => Number(fields[number - 3]);
}

/** User and system time of each process so far, in ms. */
export const cpuOf = (pids) =>
  Object.fromEntries(
    Object.entries(pids).map(([name, pid]) => {
      const field = stat(pid);
      return [name, (field(14) + field(15)) * TICK_MS];
    }),
  );

export const cpuSince = (pids, before) =>
  Object.fromEntries(Object.entries(cpuOf(pids)).map(([name, cpuMs]) => [name, cpuMs - before[name]]));

/**
 * Begins to watch what the machine does for anybody but these processes and this one; the answer ends it with their share of all cores.
 * Below 0.02 is the machine's own housekeeping and the grain of the clocks.
 */
export function watchOthers(pids) {
  // proc_stat(5): user, nice, system, irq, softirq and what the host took away; idle and iowait are nobody's.
  const busyMs = () => {
    const [user, nice, system, , , irq, softirq, steal] = readFileSync('/proc/stat', 'utf8')
      .split('\n', 1)[0]
      .split(/ +/)
      .slice(1)
      .map(Number);
    return (user + nice + system + irq + softirq + steal) * TICK_MS;
  };
  const oursMs = () => {
    const { user, system } = process.cpuUsage();
    return Object.values(cpuOf(pids)).reduce((sum, ms) => sum + ms, (user + system) / 1000);
  };
  const from = performance.now();
  const before = busyMs() - oursMs();
  return () => Math.max(0, busyMs() - oursMs() - before) / (performance.now() - from) / cpus().length;
}

/** How long ago a process started, in ms. */
export const ageOf = (pid) =>
  Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]) * 1000 - stat(pid)(22) * TICK_MS;

/** Resident memory in MiB. */
export const rssOf = (pid) => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;

/** Waits until these processes together do next to nothing, so that one run's end does not burden the next. */
export async function quiet(pids) {
  for (let tries = 0; tries < 60; tries += 1) {
    const before = cpuOf(pids);
    await delay(300);
    const busyMs = Object.values(cpuSince(pids, before)).reduce((sum, ms) => sum + ms, 0);
    if (busyMs <= 40) return;
  }
}
