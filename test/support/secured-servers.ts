import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort, startRedisServer, type RedisServer } from '@relay/testing';
import { connectKafka } from '@relay/kafka';
import type { Admin, Kafka } from 'kafkajs';
import type { Settings } from './stack.js';
import { TokenServer } from './token-server.js';

const run = promisify(execFile);
const script = join(import.meta.dirname, '..', '..', 'scripts', 'kafka-secured.mjs');

/** The user of the relay at Redis: what docs/security.md says is enough. */
const REDIS_RULES = ['~{relay:*', '&*', '+@all', '-@dangerous', '+info', '+client', '+bgrewriteaof'];

/** Seconds that a token for Kafka lives. kafkajs logs in again 10 s before its end, which must be after the half of it. */
const TOKEN_LIFE_S = 24;

/** A Kafka and a Redis as in production: TLS by an authority of one's own, a login for each user, rights for each. */
export class SecuredServers {
  private constructor(
    private readonly folder: string,
    private readonly redis: RedisServer,
    private readonly ports: Readonly<Record<string, number>>,
    private readonly passwords: Readonly<Record<string, string>>,
    readonly tokens: TokenServer,
    /** Connected by a door of the tests' own, at which anybody may do all. */
    readonly admin: Admin,
  ) {}

  /** @param names users of Kafka; one has no right before it is granted one */
  static async start(names: readonly string[]): Promise<SecuredServers> {
    const folder = mkdtempSync(join(process.env['RELAY_HOME'] ?? tmpdir(), 'relay-secured-'));
    makeAuthority(folder);
    const passwords = Object.fromEntries(names.map((name) => [name, `of-${name}`]));
    writeFileSync(join(folder, 'users.json'), JSON.stringify(passwords));
    const tokens = await TokenServer.open(passwords, TOKEN_LIFE_S);
    writeFileSync(join(folder, 'jwks.json'), tokens.keys);
    const { stdout } = await run(process.execPath, [script, 'up', folder]);
    const ports = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Record<string, number>;
    const redisPort = await freePort();
    const options = {
      port: '0',
      'tls-port': String(redisPort),
      'tls-auth-clients': 'no',
      'tls-cert-file': join(folder, 'server.crt'),
      'tls-key-file': join(folder, 'server.key'),
      'tls-ca-cert-file': join(folder, 'authority.crt'),
      'maxmemory-policy': 'noeviction',
    };
    const words = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
    words.push('--user', 'relay', 'on', '>of-redis', ...REDIS_RULES, '--user', 'default', 'off');
    const redis = await startRedisServer(redisPort, folder, words);
    const settings = { KAFKA_BROKERS: [`127.0.0.1:${ports['port']}`], KAFKA_CLIENT_ID: 'tests' };
    const admin = connectKafka(settings, () => undefined).admin();
    await admin.connect();
    return new SecuredServers(folder, redis, ports, passwords, tokens, admin);
  }

  /** The authority's certificate, a file. */
  get authority(): string {
    return join(this.folder, 'authority.crt');
  }

  /** The certificate of another one, which signed nothing here. */
  get stranger(): string {
    return join(this.folder, 'stranger.crt');
  }

  /** What a process connects by, as that user of Kafka. */
  settings(user: string): Settings {
    return {
      KAFKA_BROKERS: `127.0.0.1:${this.ports['securedPort']}`,
      KAFKA_SSL_CA_FILE: this.authority,
      KAFKA_SASL_MECHANISM: 'scram-sha-512',
      KAFKA_SASL_USERNAME: user,
      KAFKA_SASL_PASSWORD: this.passwords[user] ?? '',
      REDIS_URL: `rediss://relay:of-redis@127.0.0.1:${this.redis.port}/0`,
      NODE_EXTRA_CA_CERTS: this.authority,
    };
  }

  /** The same by tokens instead of a password at Kafka. */
  settingsByToken(user: string): Settings {
    return {
      ...this.settings(user),
      KAFKA_BROKERS: `127.0.0.1:${this.ports['tokenPort']}`,
      KAFKA_SASL_MECHANISM: 'oauthbearer',
      KAFKA_SASL_TOKEN_URL: this.tokens.url,
      KAFKA_SASL_SCOPE: 'kafka',
    };
  }

  /** A client of a partner's own, as that user. */
  kafka(user: string): Kafka {
    return connectKafka(
      {
        KAFKA_BROKERS: [`127.0.0.1:${this.ports['securedPort']}`],
        KAFKA_CLIENT_ID: user,
        KAFKA_SSL_CA: readFileSync(this.authority, 'utf8'),
        KAFKA_SASL_MECHANISM: 'scram-sha-512',
        KAFKA_SASL_USERNAME: user,
        KAFKA_SASL_PASSWORD: this.passwords[user],
      },
      () => undefined,
    );
  }

  async end(): Promise<void> {
    await this.admin.disconnect();
    await this.redis.stop();
    await run(process.execPath, [script, 'down', this.folder]);
    this.tokens.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** An authority, and a certificate of 127.0.0.1 that it signed. */
function makeAuthority(folder: string): void {
  const openssl = (...args: string[]): unknown => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  for (const name of ['authority', 'stranger'])
    openssl('req', '-x509', ...key, '-keyout', `${name}.key`, '-out', `${name}.crt`, '-subj', `/CN=${name}`);
  const named = ['-subj', '/CN=server', '-addext', 'subjectAltName=IP:127.0.0.1'];
  openssl('req', ...key, '-keyout', 'server.key', '-out', 'server.csr', ...named);
  const by = ['-CA', 'authority.crt', '-CAkey', 'authority.key', '-CAcreateserial', '-copy_extensions', 'copyall'];
  openssl('x509', '-req', '-in', 'server.csr', '-out', 'server.crt', '-days', '1', ...by);
  execFileSync('sh', ['-c', 'cat server.key server.crt > server.pem'], { cwd: folder });
}
