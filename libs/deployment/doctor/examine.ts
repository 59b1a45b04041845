import { ConfigurationFault } from '@relay/config';
import type { Kafka, TopicSettings } from '@relay/kafka';
import type { Keyring } from '@relay/keyring';
import type { RedisSettings, Shards } from '@relay/redis';
import type { Redis } from 'ioredis';
import { checkCluster } from './cluster-check.adapter.js';
import { Away, fault, type Finding, ok, orFault, warning } from './finding.js';
import { checkForLoss, type LogNames } from './loss.adapter.js';
import { checkKafka, checkRedis } from './store-checks.adapter.js';

const FIXES = {
  cluster: 'give the user of the relay the rights of docs/security.md at every node',
  redis: 'set REDIS_URL, or REDIS_SENTINELS and REDIS_SENTINEL_NAME, or REDIS_CLUSTER_NODES',
  kafka: 'correct the KAFKA_ settings',
  encryption:
    'set it to kid:base64 of 32 bytes: kid is a name of your choice, `openssl rand -base64 32` makes the rest',
  signing:
    'set it to kid:base64 of a key: `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 | openssl pkcs8 -topk8 -nocrypt -outform DER | base64 -w0` makes one',
};

/** Access to the stores. A call is aborted if its store does not answer in time. @throws Away, ConfigurationFault */
interface ExaminedStores {
  /**
   * Runs `work` with a connection to the global keys. It throws Away if that connection does not answer. If only another
   * shard does not answer, only the commands to that shard fail.
   */
  redis<T>(work: (redis: Redis, shards: Shards) => Promise<T>): Promise<T>;
  kafka<T>(work: (kafka: Kafka, settings: TopicSettings & LogNames) => Promise<T>): Promise<T>;
}

/**
 * The inputs of the examination apart from the stores. Each function is called when a check needs its result.
 * @throws ConfigurationFault, Error
 */
interface ExaminationInputs {
  /** Value of RELAY_ENV. Some faults in production are only warnings in development. */
  environment(): string;
  keyring(): Keyring;
  signingKeys(): unknown;
  wire(): WireSettings;
}

/**
 * Runs all checks of the stores and the keys. If a check cannot run, that is reported as a fault, and the other checks still
 * run.
 */
export async function examine(stores: ExaminedStores, circumstances: ExaminationInputs): Promise<Finding[]> {
  // If an input cannot be read, the checks of the settings report that, so it is ignored here.
  const environment = attempt(() => circumstances.environment()) ?? 'production';
  const keyring = attempt(() => circumstances.keyring());
  const wire = attempt(() => circumstances.wire());
  const hasNodes = wire !== undefined && wire.REDIS_URL === undefined && (wire.REDIS_CLUSTER_NODES ?? []).length > 0;
  const findings = await Promise.all([
    orFault('redis', FIXES.redis, () => stores.redis((redis) => checkRedis(redis, environment, keyring, hasNodes))),
    hasNodes ? orFault('cluster', FIXES.cluster, () => checkCluster(wire, environment)) : [],
    orFault('kafka', FIXES.kafka, () => stores.kafka((kafka, settings) => checkKafka(kafka, settings, environment))),
    lossFindings(stores),
    orFault('ENCRYPTION_KEYS', FIXES.encryption, () => {
      circumstances.keyring();
      return [ok('ENCRYPTION_KEYS', 'can be read')];
    }),
    orFault('JWT_PRIVATE_KEYS', FIXES.signing, () => {
      circumstances.signingKeys();
      return [ok('JWT_PRIVATE_KEYS', 'can be read')];
    }),
  ]);
  return [...findings.flat(), ...(wire === undefined ? [] : passwordFindings(wire))];
}

/** Checks whether Redis lost data. If a store does not answer, its own check reports that, so nothing is reported here. */
async function lossFindings(stores: ExaminedStores): Promise<Finding[]> {
  try {
    return await stores.redis((_, shards) => stores.kafka((kafka, settings) => checkForLoss(shards, kafka, settings)));
  } catch (error) {
    if (error instanceof Away || error instanceof ConfigurationFault) return [];
    const text = error instanceof Error ? error.message : String(error);
    return [fault('registry', text, 'run `relay topics create`, then the doctor again')];
  }
}

function attempt<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}

export interface WireSettings extends RedisSettings {
  readonly RELAY_ENV: string;
  readonly KAFKA_BROKERS: readonly string[];
  readonly KAFKA_SASL_MECHANISM?: string | undefined;
  /** TLS is on if any of these is set. */
  readonly KAFKA_SSL?: boolean | undefined;
  readonly KAFKA_SSL_CA?: string | undefined;
  readonly KAFKA_SSL_CERT?: string | undefined;
  readonly KAFKA_SSL_KEY?: string | undefined;
}

/** Warns if a password or token crosses the network in cleartext. SCRAM never sends the password itself. */
export function passwordFindings(settings: WireSettings): Finding[] {
  const check = 'passwords';
  const { KAFKA_SASL_MECHANISM: mechanism } = settings;
  const secret = mechanism === 'plain' ? 'password' : 'token';
  const open: Finding[] = [];
  if (kafkaShows(settings)) {
    const text = `KAFKA_SASL_MECHANISM=${mechanism} without TLS: the Kafka ${secret} crosses the network in cleartext`;
    const fix =
      'set KAFKA_SSL=true, or KAFKA_SSL_CA to an authority of your own, or use scram-sha-512; then change the password';
    open.push(warning(check, text, fix));
  }
  if (redisShows(settings)) {
    const mend =
      settings.REDIS_URL === undefined ? 'set REDIS_TLS=true' : 'have Redis speak TLS and set REDIS_URL to rediss://';
    const text = 'no TLS: the Redis password crosses the network in cleartext';
    open.push(warning(check, text, `${mend}, then change the password`));
  }
  if (open.length === 0) return [ok(check, 'none crosses a network in cleartext')];
  return settings.RELAY_ENV === 'development' ? [ok(check, 'cleartext, as is usual with RELAY_ENV=development')] : open;
}

const kafkaShows = (settings: WireSettings): boolean =>
  ['plain', 'oauthbearer'].includes(settings.KAFKA_SASL_MECHANISM ?? '') &&
  settings.KAFKA_SSL !== true &&
  [settings.KAFKA_SSL_CA, settings.KAFKA_SSL_CERT, settings.KAFKA_SSL_KEY].every((pem) => pem === undefined) &&
  !settings.KAFKA_BROKERS.every(isLoopback);

function redisShows(settings: WireSettings): boolean {
  const { REDIS_URL, REDIS_PASSWORD, REDIS_SENTINEL_PASSWORD, REDIS_TLS } = settings;
  const servers = [...settings.REDIS_SENTINELS, ...(settings.REDIS_CLUSTER_NODES ?? [])];
  if (REDIS_URL === undefined) {
    const hasPassword = REDIS_PASSWORD !== undefined || REDIS_SENTINEL_PASSWORD !== undefined;
    return hasPassword && REDIS_TLS !== true && !servers.every(isLoopback);
  }
  const url = URL.canParse(REDIS_URL) ? new URL(REDIS_URL) : undefined;
  return url?.protocol === 'redis:' && url.password !== '' && !isLoopback(url.host);
}

function isLoopback(address: string): boolean {
  const host = address.replace(/:\d+$/, '');
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
