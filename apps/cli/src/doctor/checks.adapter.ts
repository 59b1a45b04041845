import { parseSigningKeys } from '@relay/access';
import { RedisClientStore } from '@relay/identity';
import { ConfigurationFault, kafkaEnv, processEnv, redisEnv, tokenEnv } from '@relay/config';
import { checkTopicConfigs, checkTopics, findTopics } from '@relay/kafka';
import { type Keyring, kidOf } from '@relay/keyring';
import { faultOfKeys, keyKeys } from '@relay/registry';
import { IngressEnv, WorkerEnv } from '@relay/settings';
import { RedisSealedWebhooks } from '@relay/webhooks';
import type { Redis } from 'ioredis';
import type { Kafka } from 'kafkajs';
import { keyringOf } from '../keyring.adapter.js';
import { Away, withKafka, withRedis } from '../connections.adapter.js';
import { useFinding, usesOf } from '../keys/key-use.js';
import { settingsOf } from '../settings.js';
import type { Shell } from '../shell.js';
import { clockFinding } from './clock.js';
import { egressFindings } from './egress.js';
import { fault, faultInProduction, ok, type Finding } from './finding.js';
import { checkForLoss } from './loss-check.adapter.js';
import { passwordFindings } from './passwords.js';
import { proxyFinding } from './proxy.js';
import { redisFindings } from './redis-info.js';
import { replicationFindings } from './replication.js';
import { storedFinding } from './stored-keys.js';

const FIXES = {
  redis: 'set REDIS_URL, or REDIS_SENTINELS and REDIS_SENTINEL_NAME',
  kafka: 'correct the KAFKA_ settings',
  settings: 'correct it, or unset it for its default: no worker starts with it',
  shell: 'correct it, or unset it for its default: no ingress starts with it',
  encryption:
    'set it to kid:base64 of 32 bytes: kid is a name of your choice, `openssl rand -base64 32` makes the rest',
  signing:
    'set it to kid:base64 of a key: `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 | openssl pkcs8 -topk8 -nocrypt -outform DER | base64 -w0` makes one',
  topicConfigs: 'give this client the right to DescribeConfigs on the topics',
  workers: 'give this client the right to describe the group',
  records: 'run the release of the relay that wrote them',
};

const { RELAY_ENV } = processEnv;
/** The worker’s settings. */
const {
  EGRESS_PORTS,
  EGRESS_ALLOW_HTTP,
  EGRESS_ALLOW_CIDRS,
  EGRESS_DENY_CIDRS,
  EGRESS_NAT64_PREFIX,
  EGRESS_PROXY_URL,
  RETRY_SCHEDULE,
} = WorkerEnv.shape;
const sendingEnv = {
  EGRESS_PORTS,
  EGRESS_ALLOW_HTTP,
  EGRESS_ALLOW_CIDRS,
  EGRESS_DENY_CIDRS,
  EGRESS_NAT64_PREFIX,
  EGRESS_PROXY_URL,
};
const { TRUST_PROXY } = IngressEnv.shape;

/** Runs every check. A check that fails to run is a fault of its own and stops no other. */
export async function checkAll(shell: Shell): Promise<Finding[]> {
  const keyring = (): Keyring => keyringOf(shell);
  const signingEnv = { JWT_PRIVATE_KEYS: tokenEnv.JWT_PRIVATE_KEYS };
  const findings = await Promise.all([
    orFault('redis', FIXES.redis, () => withRedis(shell, (redis) => checkRedis(shell, redis, keyring))),
    orFault('kafka', FIXES.kafka, () => checkKafka(shell)),
    checkForLoss(shell),
    orFault('ENCRYPTION_KEYS', FIXES.encryption, () => keyring() && [ok('ENCRYPTION_KEYS', 'can be read')]),
    orFault('JWT_PRIVATE_KEYS', FIXES.signing, () => {
      parseSigningKeys(settingsOf(shell, signingEnv).JWT_PRIVATE_KEYS);
      return [ok('JWT_PRIVATE_KEYS', 'can be read')];
    }),
    orFault('egress', FIXES.settings, () => egressFindings(settingsOf(shell, { RELAY_ENV, ...sendingEnv }))),
    orFault('proxy', FIXES.shell, () => [proxyFinding(settingsOf(shell, { TRUST_PROXY }).TRUST_PROXY)]),
    orFault('retries', FIXES.settings, () => {
      settingsOf(shell, { RETRY_SCHEDULE });
      return [ok('retries', 'RETRY_SCHEDULE can be read')];
    }),
  ]);
  return [...findings.flat(), ...checkPasswords(shell)];
}

/** The check of the egress reports an invalid RELAY_ENV; it counts as production here. */
function environmentOf(shell: Shell): string {
  const read = (): string => settingsOf(shell, { RELAY_ENV }).RELAY_ENV;
  return canBeMade(read) ? read() : 'production';
}

/** The checks of Redis and Kafka report invalid settings. */
function checkPasswords(shell: Shell): Finding[] {
  const settings = () => settingsOf(shell, { RELAY_ENV, ...kafkaEnv, ...redisEnv });
  return canBeMade(settings) ? passwordFindings(settings()) : [];
}

async function checkRedis(shell: Shell, redis: Redis, keyring: () => Keyring): Promise<Finding[]> {
  const settings = redisFindings(await redis.info(), environmentOf(shell), await syncingOf(redis));
  // Another check reports faulty keys.
  const stored = canBeMade(keyring)
    ? await orFault('stored records', FIXES.records, () => checkStored(redis, keyring()))
    : [];
  return [ok('redis', 'answers'), ...settings, clockFinding(await aheadMs(redis)), ...stored];
}

/** How Redis syncs its append-only file; undefined where CONFIG is refused, as on managed services. */
async function syncingOf(redis: Redis): Promise<string | undefined> {
  const answer = await redis.config('GET', 'appendfsync').catch(() => []);
  return Array.isArray(answer) ? (answer as string[])[1] : undefined;
}

/** Milliseconds by which Redis’ clock is ahead of this one, to within the round trip. */
async function aheadMs(redis: Redis): Promise<number> {
  const asked = Date.now();
  const [seconds, microseconds] = await redis.time();
  return Number(seconds) * 1_000 + Number(microseconds) / 1_000 - (asked + Date.now()) / 2;
}

async function checkStored(redis: Redis, keyring: Keyring): Promise<Finding[]> {
  const sealed = new RedisSealedWebhooks(redis, asItIs, keyring, Date.now);
  const webhooks = await sealed.openings();
  const clients = await new RedisClientStore(redis, asItIs).list();
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
      // A disabled client cannot use its secret, so its key may be gone.
      clients.flatMap(({ clientId, disabled, secretHashes, credential }) => {
        const hashes = credential === undefined ? secretHashes : [credential.hash];
        return disabled ? [] : [{ name: clientId, opens: hashes.some((hash) => keyring.kids.includes(kidOf(hash))) }];
      }),
    ),
    ...usesOf(older, byKey, clients).map(useFinding),
  ];
}

/** Reads Redis as it is; another check compares it with the registry. */
const asItIs = {
  current: () => Promise.resolve(),
  catchUp: () => Promise.resolve(),
  settled: () => Promise.resolve(),
  change: () => Promise.reject(new Error('the doctor changes nothing')),
};

function checkKafka(shell: Shell): Promise<Finding[]> {
  return withKafka(shell, async (kafka, settings) => {
    const faults = await checkTopics(kafka, settings);
    const topics = faults.length === 0 ? [ok('topics', 'all are there and fit')] : faults.map(topicFault);
    const environment = environmentOf(shell);
    const workers = await orFault('workers', FIXES.workers, () =>
      checkWorkers(kafka, settings.KAFKA_CONSUMER_GROUP, environment),
    );
    const found = await findTopics(kafka, settings);
    const configs = await orFault('topic settings', FIXES.topicConfigs, async () => {
      const wrong = await checkTopicConfigs(kafka, settings);
      // Without topics there is nothing to report.
      return wrong.length === 0 && found.length > 0 ? [ok('topic settings', 'lose nothing')] : wrong.map(configFault);
    });
    const replication = replicationFindings(found, environment);
    return [ok('kafka', 'answers'), ...topics, ...replication, ...configs, ...workers];
  });
}

/** A group without members reads nothing; accepted envelopes wait in the log. */
async function checkWorkers(kafka: Kafka, group: string, environment: string): Promise<Finding[]> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    const { groups } = await admin.describeGroups([group]);
    const members = groups[0]?.members.length ?? 0;
    if (members > 0) return [ok('workers', `${members} in the group ${group}`)];
    const fix = 'start a worker; if one has ended, the last lines of its log say why';
    const text = `none reads the log in the group ${group}: deliveries wait in it`;
    return [faultInProduction(environment, 'workers', text, fix)];
  } finally {
    await admin.disconnect();
  }
}

/** `checkTopics` writes a fault as the problem, a colon, and the fix. */
const topicFault = (sentence: string): Finding => faultOf('topics', sentence);
const configFault = (sentence: string): Finding => faultOf('topic settings', sentence);

function faultOf(check: string, sentence: string): Finding {
  const colon = sentence.indexOf(': ');
  return fault(check, sentence.slice(0, colon), sentence.slice(colon + 2));
}

async function orFault(check: string, fix: string, make: () => Finding[] | Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await make();
  } catch (error) {
    if (error instanceof Away) return [fault(check, error.fault, error.fix)];
    if (error instanceof ConfigurationFault) return error.faults.map((text) => fault(check, text, fix));
    return [fault(check, error instanceof Error ? error.message : String(error), fix)];
  }
}

function canBeMade(make: () => unknown): boolean {
  try {
    make();
    return true;
  } catch {
    return false;
  }
}
