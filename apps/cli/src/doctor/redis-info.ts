import { fault, faultInProduction, ok, warning, type Finding } from './finding.js';

/**
 * What INFO says of Redis' settings: managed services often refuse CONFIG, INFO is always there.
 * @param environment RELAY_ENV
 * @param syncing its `appendfsync`, which INFO leaves out; undefined where CONFIG is refused
 */
export function redisFindings(info: string, environment: string, syncing?: string): Finding[] {
  const field = (name: string): string | undefined => new RegExp(`^${name}:(\\S*)`, 'm').exec(info)?.[1];
  const policy = field('maxmemory_policy') ?? 'unknown';
  return [
    // Under any other policy a full Redis drops jobs, marks and registrations in silence.
    policy === 'noeviction'
      ? ok('redis memory', 'maxmemory-policy is noeviction')
      : fault(
          'redis memory',
          `maxmemory-policy is ${policy}: Redis may drop deliveries when it is full`,
          'run `CONFIG SET maxmemory-policy noeviction` and set it in redis.conf',
        ),
    durability(field('aof_enabled') === '1', environment, syncing),
  ];
}

function durability(isOn: boolean, environment: string, syncing: string | undefined): Finding {
  if (!isOn)
    return faultInProduction(
      environment,
      'redis durability',
      'appendonly is off: a restart of Redis loses what waits',
      'run `CONFIG SET appendonly yes` and set it in redis.conf, with `appendfsync always`',
    );
  if (syncing === undefined || syncing === 'always') return ok('redis durability', 'appendonly is on');
  return warning(
    'redis durability',
    `appendfsync is ${syncing}: a crash of Redis' machine loses its last writes, and what they settled is delivered again`,
    'run `CONFIG SET appendfsync always` and set it in redis.conf',
  );
}
