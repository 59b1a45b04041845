import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { planTopics } from '@relay/kafka';
import { startRedisServer } from '@relay/testing';
import kafkajs from 'kafkajs';
import { anEnvelope } from '../support/client.js';
import { CommandLine } from '../support/command-line.js';
import { Relay } from '../support/relay.js';
import type { Settings } from '../support/stack.js';
import { until } from '../support/until.js';

let relay: Relay;
let cli: CommandLine;
beforeAll(async () => {
  relay = await Relay.start();
  cli = new CommandLine({ ...relay.stack.env, PUBLIC_URL: relay.ingress.url });
});
afterAll(() => relay.close());

/** A clock of the doctor's machine that is two hours ahead, before anything of it runs. */
const AHEAD = `--import=data:text/javascript,${encodeURIComponent('const now = Date.now; Date.now = () => now() + 7_200_000;')}`;
const otherKey = `other:${Buffer.alloc(32, 7).toString('base64')}`;

describe('relay doctor', () => {
  it('finds no fault in a healthy relay', async () => {
    const partner = await relay.partner();
    await partner.register({ eventType: 'plan.completed', endPointUrl: relay.receiver.url('/x'), apiKey: 'key' });
    const { healthy, faults, warnings, findings } = await cli.json<{
      healthy: boolean;
      faults: number;
      warnings: number;
      findings: { check: string; state: string }[];
    }>(['doctor']);
    // The tests' endpoints are on this machine, their Kafka is one broker, their Redis has no limit, and the relay is a production one.
    const isOther = ({ check, state }: { check: string; state: string }): boolean =>
      state !== 'ok' && !(['egress', 'replication', 'redis memory limit'].includes(check) && state === 'warning');
    expect([healthy, faults, findings.filter(isOther)]).toEqual([true, 0, []]);
    expect(warnings).toBe(findings.filter(({ state }) => state === 'warning').length);
    expect(findings.map(({ check }) => check)).toEqual(expect.arrayContaining(['clock', 'workers', 'egress']));
    expect(findings).toContainEqual(expect.objectContaining({ check: 'replication', state: 'warning' }));
  });

  // What each needs beside the settings of a relay that works, and what the doctor says of it: the finding, then its fix.
  const seeded: [name: string, settings: Settings, finding: RegExp, fix: RegExp][] = [
    ['a Redis that is away', { REDIS_URL: 'redis://127.0.0.1:1' }, /fault +redis +.*127\.0\.0\.1:1/, /REDIS_URL/],
    ['a Kafka that is away', { KAFKA_BROKERS: '127.0.0.1:1' }, /fault +kafka +.*127\.0\.0\.1:1/, /KAFKA_BROKERS/],
    ['topics that are missing', { KAFKA_TOPIC_PREFIX: 'nobody.' }, /fault +topics .*is missing/, /relay topics create/],
    ['too few partitions', { KAFKA_TOPIC_PARTITIONS: '50' }, /fault +topics .* of 50 partitions/, /--partitions 50/],
    ['too few copies', { KAFKA_TOPIC_REPLICATION: '3' }, /fault +topics .*1 of 3 replicas/, /reassign-partitions/],
    ['a Redis without a limit', {}, /warning +redis memory limit +.*maxmemory is 0/, /CONFIG SET maxmemory/],
    ['one replica in production', {}, /warning +replication .* one replica/, /KAFKA_TOPIC_REPLICATION=3/],
    [
      'workers that do not read',
      { KAFKA_CONSUMER_GROUP: 'has-read-nothing' },
      /fault +workers +none reads/,
      /start a worker/,
    ],
    [
      'workers that do not read in development',
      { KAFKA_CONSUMER_GROUP: 'has-read-nothing', RELAY_ENV: 'development' },
      /warning +workers +none reads/,
      /start a worker/,
    ],
    ['a clock that is wrong', { NODE_OPTIONS: AHEAD }, /fault +clock +7200 s ahead of that of Redis/, /NTP/],
    [
      'an opened egress',
      { EGRESS_ALLOW_HTTP: 'true' },
      /warning +egress +EGRESS_ALLOW_HTTP=true/,
      /unset EGRESS_ALLOW_HTTP/,
    ],
    ['a port that is none', { EGRESS_PORTS: '443,x' }, /fault +egress +EGRESS_PORTS is wrong/, /no worker starts/],
    ['a range that is none', { EGRESS_DENY_CIDRS: '10.0.0' }, /fault +egress +EGRESS_DENY_CIDRS/, /correct it/],
    [
      'a NAT64 prefix that is none',
      { EGRESS_NAT64_PREFIX: '64:ff9b::/95' },
      /fault +egress +EGRESS_NAT64_PREFIX/,
      /correct it/,
    ],
    ['a proxy that is none', { EGRESS_PROXY_URL: 'proxy' }, /fault +egress +EGRESS_PROXY_URL/, /correct it/],
    ['a schedule that is none', { RETRY_SCHEDULE: '5s,soon' }, /fault +retries +RETRY_SCHEDULE/, /correct it/],
    ['no signing key', { JWT_PRIVATE_KEYS: 'x' }, /fault +JWT_PRIVATE_KEYS/, /openssl genpkey/],
    ['an encryption key that is none', { ENCRYPTION_KEYS: 'k:short' }, /fault +ENCRYPTION_KEYS/, /openssl rand/],
    ['credentials without their key', { ENCRYPTION_KEYS: otherKey }, /fault +webhook credentials/, /ENCRYPTION_KEYS/],
    ['client secrets without their key', { ENCRYPTION_KEYS: otherKey }, /fault +client secrets/, /ENCRYPTION_KEYS/],
  ];
  it.each(seeded)('finds %s, and names the fix', async (_, settings, finding, fix) => {
    const { code, out } = await cli.run(['doctor'], settings);
    const lines = out.split('\n');
    const at = lines.findIndex((line) => finding.test(line));
    expect([lines[at], lines[at + 1]]).toEqual([expect.stringMatching(finding), expect.stringMatching(fix)]);
    expect(code).toBe(lines[at]?.startsWith('fault') === true ? 1 : 0);
  });

  it('finds nothing good in topics that are not there', async () => {
    const { out } = await cli.run(['doctor'], { KAFKA_TOPIC_PREFIX: 'nobody.' });
    expect(out).not.toMatch(/ok +(?:replication|topics|topic settings) /);
  });

  it('finds that Redis was lost', async () => {
    const source = await relay.source();
    expect(await source.post(anEnvelope())).toMatchObject({ status: 202 });
    const redis = await startRedisServer();
    try {
      const read = async (): Promise<boolean> =>
        (await cli.run(['doctor'], { REDIS_URL: redis.url() })).out.includes('it was lost');
      await until('the worker has committed what it read', read);
      const { code, out } = await cli.run(['doctor'], { REDIS_URL: redis.url() });
      expect([code, out]).toEqual([
        1,
        expect.stringMatching(
          /fault +progress +(?:Shard 0 of )?Redis (?:\(\S+\) )?knows nothing of .*\n.*relay recover/,
        ),
      ]);
    } finally {
      await redis.stop();
    }
  });

  it('names a Redis that may evict and keeps no log, with the fixes', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'relay-doctor-'));
    const redis = await startRedisServer(undefined, folder);
    try {
      // A group that has read nothing: with the relay's own this Redis would be one that was lost.
      const settings = { REDIS_URL: redis.url(), KAFKA_CONSUMER_GROUP: 'has-read-nothing' };
      const development = { ...settings, RELAY_ENV: 'development' };
      const client = new Redis(redis.url());
      await client.config('SET', 'appendonly', 'no');
      expect(await cli.run(['doctor'], settings)).toMatchObject({
        code: 1,
        out: expect.stringMatching(/fault +redis durability .*\n.*fix: run `CONFIG SET appendonly yes`/),
      });
      const developing = await cli.run(['doctor'], development);
      expect(developing).toMatchObject({ code: 0, out: expect.stringMatching(/warning +redis durability /) });
      expect(developing.out).toMatch(/\nno fault found, 2 warnings\n$/);
      await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
      await client.config('SET', 'appendonly', 'yes', 'appendfsync', 'everysec');
      await client.config('SET', 'maxmemory', '1gb');
      client.disconnect();
      const { code, out } = await cli.run(['doctor'], development);
      expect([code, out]).toEqual([
        1,
        expect.stringMatching(/fault +redis memory .*\n.*fix: run `CONFIG SET maxmemory-policy noeviction`/),
      ]);
      expect(out).toMatch(/ok +redis memory limit +maxmemory is 1073741824 bytes\n/);
      expect(out).toMatch(
        /warning +redis durability +appendfsync is everysec.*\n.*fix: run `CONFIG SET appendfsync always`/,
      );
    } finally {
      await redis.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('names a topic that drops records too early, with the command that mends it', async () => {
    const { env, admin } = relay.stack;
    const topic = relay.stack.topic('tax_return.filed').name;
    const plans = planTopics({
      KAFKA_TOPIC_PREFIX: env['KAFKA_TOPIC_PREFIX'] ?? '',
      KAFKA_TOPIC_PARTITIONS: 1,
      KAFKA_TOPIC_REPLICATION: 1,
    });
    const config = plans.find((plan) => plan.topic === topic)?.config ?? {};
    const configure = async (changes: Record<string, string>): Promise<void> => {
      const entries = Object.entries({ ...config, ...changes });
      const configEntries = entries.map(([name, value]) => ({ name, value }));
      const resources = [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configEntries }];
      await admin.alterConfigs({ validateOnly: false, resources });
    };
    await configure({ 'retention.ms': '3600000' });
    try {
      const { out } = await until('the broker has it', async () => {
        const ran = await cli.run(['doctor']);
        return ran.out.includes('retention.ms=3600000') && ran;
      });
      expect(out).toMatch(/fault +topic settings +The topic \S+ has retention\.ms=3600000\n/);
      const fix = `--entity-name ${topic} --add-config retention.ms=604800000\``;
      expect(out).toContain(fix);
      const check = await cli.run(['topics', 'check']);
      expect([check.code, check.out]).toEqual([1, expect.stringContaining(fix)]);
    } finally {
      await configure({});
    }
    await until('nothing is wrong', async () => (await cli.run(['topics', 'check'])).code === 0);
  });

  it('names credentials that no key opens, and every other fault beside', async () => {
    const { code, out } = await cli.run(['doctor'], {
      ENCRYPTION_KEYS: otherKey,
      JWT_PRIVATE_KEYS: 'x',
      KAFKA_BROKERS: '',
    });
    expect(code).toBe(1);
    expect(out).toMatch(/fault +webhook credentials +\d+ of \d+ cannot be read/);
    expect(out).toMatch(/fault +client secrets +\d+ of \d+ cannot be read/);
    expect(out).toMatch(/fault +kafka +KAFKA_BROKERS is not set/);
    expect(out).toMatch(/fault +JWT_PRIVATE_KEYS/);
    expect(out).toMatch(/fault +registered keys +ENCRYPTION_KEYS lacks/);
    expect(out).toContain('5 faults found');
  });
});
