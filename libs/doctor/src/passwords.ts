import type { RedisSettings } from '@relay/redis';
import { ok, warning, type Finding } from './finding.js';

export interface WireSettings extends RedisSettings {
  readonly RELAY_ENV: string;
  readonly KAFKA_BROKERS: readonly string[];
  readonly KAFKA_SASL_MECHANISM?: string | undefined;
  /** Each of these turns TLS on. */
  readonly KAFKA_SSL?: boolean | undefined;
  readonly KAFKA_SSL_CA?: string | undefined;
  readonly KAFKA_SSL_CERT?: string | undefined;
  readonly KAFKA_SSL_KEY?: string | undefined;
}

/** Warns of passwords that the network can read; SCRAM sends none. */
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
    const mend = settings.REDIS_URL === undefined ? 'set REDIS_TLS=true' : 'have Redis speak TLS and set REDIS_URL to rediss://';
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
