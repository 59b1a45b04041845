import {
  configFaults,
  planTopics,
  type TopicConfigFound,
  topicFaults,
  type TopicFound,
  type TopicSettings,
} from '@relay/kafka';
import { diskFaultIn } from '@relay/redis';
import type { Redis } from 'ioredis';
import { fault, faultInProduction, type Finding, ok, warning } from './finding.js';

interface Broken {
  readonly text: string;
  readonly fix: string;
}

/**
 * A setting of Redis or Kafka that the guarantees of the relay depend on and that others can change at any time. A worker
 * checks it when it starts, at each new connection to Redis, and every minute; `relay doctor` and `GET /doctor` check it on
 * request. If the condition is broken, the worker logs so and exports a metric, for which an alert exists. If `isNeeded` is
 * also set, the worker is not ready. The database number in REDIS_URL is no condition, because a connection to a server
 * without this database fails anyway.
 */
export interface Condition<Facts> {
  /** Name of the condition, and of the doctor's check for it. */
  readonly name: string;
  /** Whether a worker is not ready while the condition is broken. */
  readonly isNeeded: boolean;
  /** If set, the condition matters in production. In development, a worker ignores it and the doctor only warns. */
  readonly isOfProduction?: true;
  readonly broken: (facts: Facts) => readonly Broken[];
}

export interface TopicFacts {
  readonly settings: TopicSettings;
  readonly found: readonly TopicFound[];
  /** The settings of the topics; undefined if this client is not allowed to read them. */
  readonly configs: readonly TopicConfigFound[] | undefined;
}

export const infoField = (info: string, name: string): string | undefined =>
  new RegExp(`^${name}:(\\S*)`, 'm').exec(info)?.[1];

/** Returns the text that says how to change a setting of Redis. */
export const setting = (wanted: string): string => `run \`CONFIG SET ${wanted}\` and set it in redis.conf`;

/** Conditions of each Redis server. They are read from INFO, which managed services never refuse. */
export const REDIS_CONDITIONS: readonly Condition<string>[] = [
  {
    name: 'redis memory',
    isNeeded: true,
    broken: (info) => {
      const policy = infoField(info, 'maxmemory_policy') ?? 'unknown';
      const text = `maxmemory-policy is ${policy}: Redis may drop deliveries when it is full`;
      return policy === 'noeviction' ? [] : [{ text, fix: setting('maxmemory-policy noeviction') }];
    },
  },
  {
    name: 'redis durability',
    isNeeded: false,
    isOfProduction: true,
    broken: (info) => {
      const text = 'appendonly is off: a restart of Redis loses all waiting deliveries';
      const fix = `${setting('appendonly yes')}, with \`appendfsync always\``;
      return infoField(info, 'aof_enabled') === '1' ? [] : [{ text, fix }];
    },
  },
  {
    name: 'redis evictions',
    isNeeded: false,
    broken: (info) => {
      const dropped = Number(/^evicted_keys:(\d+)/m.exec(info)?.[1] ?? 0);
      const text = `evicted_keys is ${dropped}: Redis dropped keys to make room, and deliveries, webhooks or marks may be gone`;
      const fix = 'treat Redis as lost: see RelayConditionBroken in docs/operations/runbooks.md';
      return dropped === 0 ? [] : [{ text, fix }];
    },
  },
];

export const TOPIC_CONDITIONS: readonly Condition<TopicFacts>[] = [
  {
    name: 'topics',
    isNeeded: false,
    broken: ({ settings, found }) => topicFaults(planTopics(settings), found).map(halvesOf),
  },
  {
    name: 'topic settings',
    isNeeded: false,
    broken: ({ settings, configs = [] }) => configFaults(planTopics(settings), configs).map(halvesOf),
  },
];

/** Splits a sentence about topics at its first colon. The problem stands before the colon and the fix after it. */
export function halvesOf(sentence: string): Broken {
  const colon = sentence.indexOf(': ');
  return { text: sentence.slice(0, colon), fix: sentence.slice(colon + 2) };
}

/**
 * Returns the findings about the settings of a Redis server. They are read from INFO, because managed services often refuse
 * CONFIG.
 * @param environment RELAY_ENV
 * @param syncing value of `appendfsync`, which INFO does not contain; undefined if the server refuses CONFIG
 * @param diskFault fault of the server's disk; by default read from INFO
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

/**
 * Without a limit, workers never pause reading because of memory, and the operating system kills Redis when memory runs out.
 */
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

/** Returns a setting that INFO does not contain; undefined if the server refuses CONFIG, as managed services do. */
export async function settingOf(redis: Redis, name: string): Promise<string | undefined> {
  const answer = await redis.config('GET', name).catch(() => []);
  return Array.isArray(answer) ? (answer as string[])[1] : undefined;
}

/** Clock difference in ms from which on it is a fault, far below the 30 s beyond which a worker takes no work. */
const BEARABLE_MS = 5_000;

/** @param aheadMs by how much the clock of Redis is ahead of the clock of this machine */
export function clockFinding(aheadMs: number): Finding {
  const seconds = Math.round(Math.abs(aheadMs) / 1_000);
  if (Math.abs(aheadMs) < BEARABLE_MS) return ok('clock', `within ${Math.max(1, seconds)} s of that of Redis`);
  return fault(
    'clock',
    `${seconds} s ${aheadMs > 0 ? 'behind' : 'ahead of'} that of Redis: all processes work by Redis' time, and a worker on a host that is 30 s off takes no work`,
    'synchronise the clocks of all machines by NTP, such as with chrony; the doctor compares the one it runs on',
  );
}
