import { type ClientRecord, ClientStore } from '@relay/identity';
import {
  findTopics,
  type Kafka,
  readTopicConfigs,
  type TopicFound,
  topicNotes,
  type TopicSettings,
  withAdmin,
} from '@relay/kafka';
import { type Keyring, kidOf } from '@relay/keyring';
import { hostTime, isRedisAway, onlyShard, readDisk } from '@relay/redis';
import { faultOfKeys, keyKeys } from '@relay/registry';
import { RedisSealedWebhooks } from '@relay/webhooks';
import type { Redis } from 'ioredis';
import { clockFinding, halvesOf, redisFindings, settingOf, TOPIC_CONDITIONS } from './conditions.js';
import { Away, fault, faultInProduction, type Finding, ok, orFault, warning } from './finding.js';
import type { LogNames } from './loss.adapter.js';

const FIXES = {
  topicConfigs: 'give this client the right to DescribeConfigs on the topics',
  workers: 'give this client the right to describe the group',
  records: 'run the release of the relay that wrote them',
};

/**
 * Checks Redis and the records that it stores.
 * @param environment RELAY_ENV
 * @param keyring undefined if the encryption keys are invalid, which another check reports
 * @param hasNodes whether Redis is a cluster, because another check examines each node of a cluster
 */
export async function checkRedis(
  redis: Redis,
  environment: string,
  keyring: Keyring | undefined,
  hasNodes: boolean,
): Promise<Finding[]> {
  const settings = hasNodes ? [] : await settingsFound(redis, environment);
  const stored =
    keyring === undefined ? [] : await orFault('stored records', FIXES.records, () => checkStored(redis, keyring));
  return [ok('redis', 'answers'), ...settings, clockFinding(await aheadMs(redis)), ...stored];
}

async function settingsFound(redis: Redis, environment: string): Promise<Finding[]> {
  const [info, syncing] = [await redis.info(), await settingOf(redis, 'appendfsync')];
  return redisFindings(info, environment, syncing, (await readDisk(onlyShard(redis))).fault);
}

/** Returns by how many ms the clock of Redis is ahead of this machine's clock, accurate to the round-trip time. */
async function aheadMs(redis: Redis): Promise<number> {
  const asked = hostTime();
  const [seconds, microseconds] = await redis.time();
  return Number(seconds) * 1_000 + Number(microseconds) / 1_000 - (asked + hostTime()) / 2;
}

async function checkStored(redis: Redis, keyring: Keyring): Promise<Finding[]> {
  try {
    return await storedFindings(redis, keyring);
  } catch (error) {
    if (!isRedisAway(error)) throw error;
    throw new Away(
      `cannot be read (${error instanceof Error ? error.message : String(error)})`,
      'mend what the other findings of Redis name, then run the doctor again',
      error,
    );
  }
}

async function storedFindings(redis: Redis, keyring: Keyring): Promise<Finding[]> {
  const sealed = new RedisSealedWebhooks(redis, asItIs, keyring, Date.now);
  const webhooks = await sealed.openings();
  const clients = await new ClientStore(redis, asItIs).list();
  const [, ...older] = keyring.kids;
  const byKey = await sealed.byKey();
  const missing = faultOfKeys(await redis.hgetall(keyKeys[0]), keyring.checks);
  const registered =
    missing === undefined
      ? ok('registered keys', 'are all there')
      : fault('registered keys', missing, 'see `keys.missing` in docs/operations/log-events.md');
  return [
    registered,
    storedFinding(
      'webhook credentials',
      webhooks.map(({ id, opens }) => ({ name: `webhook ${id}`, opens })),
    ),
    storedFinding(
      'client secrets',
      // A disabled client cannot use its secret, so the key of the secret may be missing.
      clients.flatMap(({ clientId, disabled, secretHashes, credential }) => {
        const hashes = credential === undefined ? secretHashes : [credential.hash];
        return disabled ? [] : [{ name: clientId, opens: hashes.some((hash) => keyring.kids.includes(kidOf(hash))) }];
      }),
    ),
    ...usesOf(older, byKey, clients).map(useFinding),
  ];
}

/** Lets the stores read Redis without the registry. Another check compares Redis with the registry. */
const asItIs = {
  current: () => Promise.resolve(),
  catchUp: () => Promise.resolve(),
  settled: () => Promise.resolve(),
  change: () => Promise.reject(new Error('the doctor changes nothing')),
};

export async function checkKafka(
  kafka: Kafka,
  settings: TopicSettings & LogNames,
  environment: string,
): Promise<Finding[]> {
  const read = await withAdmin(kafka, async (admin) => ({
    found: await findTopics(admin, settings),
    // If the settings cannot be read, the check `topic settings` below reports that.
    configs: await readTopicConfigs(admin, settings).catch((error: unknown) => error),
  }));
  const { found } = read;
  const [topics = [], configs = []] = TOPIC_CONDITIONS.map(({ name, broken }) =>
    broken({ settings, found, configs: Array.isArray(read.configs) ? read.configs : undefined }).map(({ text, fix }) =>
      fault(name, text, fix),
    ),
  );
  const notes = topicNotes(settings, found)
    .map(halvesOf)
    .map(({ text, fix }) => warning('topics', text, fix));
  const workers = await orFault('workers', FIXES.workers, () =>
    checkWorkers(kafka, settings.KAFKA_CONSUMER_GROUP, environment),
  );
  const unread = await orFault('topic settings', FIXES.topicConfigs, () => {
    if (!Array.isArray(read.configs)) throw read.configs;
    // If there are no topics, the check `topics` reports that.
    return configs.length === 0 && found.length > 0 ? [ok('topic settings', 'lose nothing')] : configs;
  });
  const replication = replicationFindings(found, environment);
  const fit = topics.length + notes.length === 0 ? [ok('topics', 'all are there and fit')] : topics;
  return [ok('kafka', 'answers'), ...fit, ...notes, ...replication, ...unread, ...workers];
}

/** Checks that the consumer group has members. Without members, no worker reads the log and accepted envelopes wait there. */
async function checkWorkers(kafka: Kafka, group: string, environment: string): Promise<Finding[]> {
  const { groups } = await withAdmin(kafka, (admin) => admin.describeGroups([group]));
  const members = groups[0]?.members.length ?? 0;
  if (members > 0) return [ok('workers', `${members} in the group ${group}`)];
  const fix = 'start a worker; if one has ended, the last lines of its log say why';
  const text = `none reads the log in the group ${group}: deliveries wait in it`;
  return [faultInProduction(environment, 'workers', text, fix)];
}

/** Warns of topics with a single replica: if a broker loses its disk, accepted envelopes are lost. */
export function replicationFindings(topics: readonly TopicFound[], environment: string): Finding[] {
  // If there are no topics, the check `topics` reports that.
  if (topics.length === 0) return [];
  const single = topics.filter(({ replication }) => replication < 2);
  const [first] = single;
  if (first === undefined) return [ok('replication', 'every topic has two replicas or more')];
  if (environment === 'development') return [ok('replication', 'one replica, as is usual with RELAY_ENV=development')];
  const found = warning(
    'replication',
    `${single.length} of ${topics.length} topics have one replica, such as ${first.topic}: a broker that loses its disk loses accepted envelopes`,
    'run three brokers, set KAFKA_TOPIC_REPLICATION=3 and add replicas to the topics with `kafka-reassign-partitions.sh`',
  );
  return [found];
}

/** The records that still need an older key. */
export interface KeyUse {
  readonly key: string;
  readonly webhooks: readonly string[];
  /** Clients whose secret was hashed with this key. A hash with another key can be made only from the secret itself. */
  readonly clients: readonly string[];
}

/** Returns for each older key the records that need it. A disabled client cannot use its secrets, so it needs no key. */
export function usesOf(
  older: readonly string[],
  webhooks: ReadonlyMap<string, ReadonlySet<string>>,
  clients: readonly ClientRecord[],
): KeyUse[] {
  return older.map((key) => ({
    key,
    webhooks: [...(webhooks.get(key) ?? [])],
    clients: clients
      .filter(({ disabled, secretHashes, credential }) => {
        const hashes = credential === undefined ? secretHashes : [credential.hash];
        return !disabled && hashes.some((hash) => kidOf(hash) === key);
      })
      .map(({ clientId }) => clientId),
  }));
}

export const isDispensable = ({ webhooks, clients }: KeyUse): boolean => webhooks.length === 0 && clients.length === 0;

const counted = (count: number, one: string): string => `${count} ${count === 1 ? one : `${one}s`}`;

/** Says whether an older key can be removed, as a clause without a full stop. */
export function useText(use: KeyUse): string {
  if (isDispensable(use)) return `${use.key} is no longer needed: remove it from ENCRYPTION_KEYS`;
  const { webhooks, clients } = use;
  const users = [
    ...(webhooks.length === 0 ? [] : [`${counted(webhooks.length, 'webhook')}, such as ${webhooks[0]}`]),
    ...(clients.length === 0 ? [] : [`secrets of ${counted(clients.length, 'client')}, such as ${clients[0]}`]),
  ];
  return `${use.key} is still needed for ${users.join('; and for ')}`;
}

export const useFix = ({ webhooks }: KeyUse): string =>
  webhooks.length > 0
    ? 'run `relay keys rotate`'
    : 'a secret moves to the first key when it is used; a secret that is no longer used ends with the key';

export const useFinding = (use: KeyUse): Finding =>
  isDispensable(use) ? ok('older keys', useText(use)) : warning('older keys', useText(use), useFix(use));

/** Checks that the configured keys can open every stored record. */
export function storedFinding(check: string, records: readonly { name: string; opens: boolean }[]): Finding {
  const closed = records.filter(({ opens }) => !opens);
  const [first] = closed;
  if (first === undefined) return ok(check, `${records.length} of ${records.length} can be read`);
  return fault(
    check,
    `${closed.length} of ${records.length} cannot be read, such as ${first.name}`,
    'put the key that sealed them back into ENCRYPTION_KEYS, after the first key; if it is lost, docs/security.md says how to replace them',
  );
}
