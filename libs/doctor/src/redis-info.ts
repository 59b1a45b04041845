import { diskFaultIn } from '@relay/redis';
import { REDIS_CONDITIONS } from './conditions.js';
import { fault, faultInProduction, ok, warning, type Finding } from './finding.js';

/**
 * Findings about Redis’ settings from INFO: managed services often refuse CONFIG but never INFO.
 * @param environment RELAY_ENV
 * @param syncing `appendfsync`, which INFO omits; undefined where CONFIG is refused
 * @param diskFault what is wrong with its disk, where more is known of it than INFO says
 */
export function redisFindings(
  info: string,
  environment: string,
  syncing?: string,
  diskFault = diskFaultIn(info),
): Finding[] {
  const field = (name: string): string | undefined => new RegExp(`^${name}:(\\S*)`, 'm').exec(info)?.[1];
  const broken = REDIS_CONDITIONS.flatMap(({ name, broken: brokenIn }) =>
    brokenIn(info).map(({ text, fix }) => fault(name, text, fix)),
  );
  return [
    ...(broken.length === 0 ? [ok('redis memory', 'maxmemory-policy is noeviction')] : broken),
    memoryLimit(Number(field('maxmemory') ?? 0), environment),
    durability(field('aof_enabled') === '1', environment, syncing),
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

function durability(isOn: boolean, environment: string, syncing: string | undefined): Finding {
  if (!isOn)
    return faultInProduction(
      environment,
      'redis durability',
      'appendonly is off: a restart of Redis loses all waiting deliveries',
      'run `CONFIG SET appendonly yes` and set it in redis.conf, with `appendfsync always`',
    );
  if (syncing === undefined || syncing === 'always') return ok('redis durability', 'appendonly is on');
  return warning(
    'redis durability',
    `appendfsync is ${syncing}: a crash of Redis' machine loses its last writes, and settled deliveries are made again`,
    'run `CONFIG SET appendfsync always` and set it in redis.conf',
  );
}
