import {
  configFaults,
  planTopics,
  topicFaults,
  type TopicConfigFound,
  type TopicFound,
  type TopicSettings,
} from '@relay/kafka';

export interface Broken {
  readonly text: string;
  readonly fix: string;
}

/**
 * A setting of a store that the promise depends on and that others can change at any time. A worker looks at its start, at each new
 * connection to Redis and each minute; `relay doctor` and the page of operations look when they are asked. While one does not hold,
 * the worker logs it, shows it as a metric, by which an alert fires, and is not ready if the condition says so. The database that
 * REDIS_URL names is no condition: a connection that does not get it is refused.
 */
export interface Condition<Facts> {
  /** Name of the condition and of the check of the doctor. */
  readonly name: string;
  /** Whether a worker is not ready without it. */
  readonly isNeeded: boolean;
  /** Whether it counts with RELAY_ENV=production only. */
  readonly isOfProduction?: true;
  readonly broken: (facts: Facts) => readonly Broken[];
}

export interface TopicFacts {
  readonly settings: TopicSettings;
  readonly found: readonly TopicFound[];
  /** undefined if this client may not read them. */
  readonly configs: readonly TopicConfigFound[] | undefined;
}

export const infoField = (info: string, name: string): string | undefined =>
  new RegExp(`^${name}:(\\S*)`, 'm').exec(info)?.[1];

/** The fix of a setting of Redis, with its value. */
export const setting = (wanted: string): string => `run \`CONFIG SET ${wanted}\` and set it in redis.conf`;

/** Conditions of each Redis server, read from INFO, which managed services never refuse. */
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

/** The sentences about topics have the problem, a colon, and the fix. */
export function halvesOf(sentence: string): Broken {
  const colon = sentence.indexOf(': ');
  return { text: sentence.slice(0, colon), fix: sentence.slice(colon + 2) };
}
