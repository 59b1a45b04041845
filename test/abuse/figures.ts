import { readFileSync, writeFileSync } from 'node:fs';
import type { Redis } from 'ioredis';

export const MIB = 1_048_576;

const statusOf = (pid: number, member: string): number => {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${member}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1] ?? 0) * 1_024;
};

/** Bytes of memory a process has at the moment; 0 when it has ended. */
export const rssOf = (pid: number): number => valueOr0(() => statusOf(pid, 'VmRSS'));

/** The most it had since `forgetPeak`. */
export const peakOf = (pid: number): number => valueOr0(() => statusOf(pid, 'VmHWM'));

/** The peak counts from now on, where the machine allows it; else from the start of the process, which is no less strict. */
export function forgetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    // Not ours to write.
  }
}

/** Connections of anybody to a port of this machine, those included that ended within the last minute. */
export function connectionsTo(port: number): number {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return ['/proc/net/tcp', '/proc/net/tcp6']
    .flatMap((file) => readFileSync(file, 'utf8').split('\n').slice(1))
    .filter((line) => line.trim().split(/\s+/)[2]?.endsWith(wanted)).length;
}

export interface RedisFigures {
  readonly usedBytes: number;
  readonly commands: number;
  /** What it has answered, in bytes. */
  readonly outBytes: number;
}

export async function redisFigures(redis: Redis): Promise<RedisFigures> {
  const text = await redis.info();
  const value = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(text)?.[1] ?? 0);
  return {
    usedBytes: value('used_memory'),
    commands: value('total_commands_processed'),
    outBytes: value('total_net_output_bytes'),
  };
}

function valueOr0(read: () => number): number {
  try {
    return read();
  } catch {
    return 0;
  }
}
