import { diskFaultIn } from '@relay/redis';
import type { Redis } from 'ioredis';
import { infoField, REDIS_CONDITIONS, setting } from './conditions.js';
import { fault, faultInProduction, ok, warning, type Finding } from './finding.js';

/**
 * Findings about Redis’ settings from INFO: managed services often refuse CONFIG but never INFO.
 * @param environment RELAY_ENV
 * @param syncing `appendfsync`, which INFO omits; undefined if CONFIG is refused
 * @param diskFault fault of its disk that INFO does not show
 */
export function redisFindings(
  info: string,
  environment: string,
  syncing?: string,
  diskFault = diskFaultIn(info),
): Finding[] {
  const holds = [ok('redis memory', 'maxmemory-policy is noeviction'), durability(syncing)];
  const [memory = [], durable = [], evicted = []] = REDIS_CONDITIONS.map(({ name, isOfProduction, broken }, index) => {
    const found = broken(info).map(({ text, fix }) =>
      isOfProduction ? faultInProduction(environment, name, text, fix) : fault(name, text, fix),
    );
    return found.length === 0 ? holds.slice(index, index + 1) : found;
  });
  return [
    ...memory,
    memoryLimit(Number(infoField(info, 'maxmemory') ?? 0), environment),
    ...durable,
    ...evicted,
    diskFinding(diskFault),
  ];
}

function diskFinding(found: string | undefined): Finding {
  if (found === undefined) return ok('redis disk', 'no write to the disk failed');
  return fault(
    'redis disk',
    `${found}: its disk may be full, and a full disk ends Redis`,
    'make room for twice its data, then run `BGREWRITEAOF`, and `BGSAVE` if it keeps snapshots; see RelayRedisDisk in docs/operations/runbooks.md',
  );
}

/** Without a limit workers never pause reading, and the machine kills Redis instead. */
const memoryLimit = (bytes: number, environment: string): Finding =>
  bytes > 0 || environment === 'development'
    ? ok('redis memory limit', bytes > 0 ? `maxmemory is ${bytes} bytes` : 'there is none, and RELAY_ENV=development')
    : warning(
        'redis memory limit',
        'maxmemory is 0: workers do not pause reading and RelayRedisMemory does not fire before the machine has no memory left',
        'run `CONFIG SET maxmemory` with at most two thirds of the memory of its machine, and set it in redis.conf',
      );

function durability(syncing: string | undefined): Finding {
  if (syncing === undefined || syncing === 'always') return ok('redis durability', 'appendonly is on');
  return warning(
    'redis durability',
    `appendfsync is ${syncing}: a crash of Redis' machine loses its last writes, and settled deliveries are made again`,
    setting('appendfsync always'),
  );
}

/** A setting that INFO omits; undefined if CONFIG is refused, as on managed services. */
export async function settingOf(redis: Redis, name: string): Promise<string | undefined> {
  const answer = await redis.config('GET', name).catch(() => []);
  return Array.isArray(answer) ? (answer as string[])[1] : undefined;
}

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
