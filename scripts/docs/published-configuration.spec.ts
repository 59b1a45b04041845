import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseSigningKeys } from '@relay/access';
import { isSecret } from '@relay/config';
import { Keyring } from '@relay/keyring';
import { IngressEnv, OperationsEnv, WorkerEnv } from '@relay/settings';
import { parse } from 'yaml';
import { valuesSchema } from './chart-schema.js';
import { configurationPage } from './configuration-page.js';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const shapes = { ...IngressEnv.shape, ...WorkerEnv.shape, ...OperationsEnv.shape };
const variables = Object.entries(shapes);
type Properties = Record<string, { properties: Record<string, object> }>;
const { properties } = valuesSchema() as { properties: Properties };

/** One source for configuration: what the processes parse. */
describe('the configuration', () => {
  it('is in the chart’s schema as the processes parse it (write it anew with `npx node scripts/docs.mjs`)', () => {
    expect(JSON.parse(read('charts/partner-relay/values.schema.json'))).toEqual(valuesSchema());
  });

  it('can be set in the chart, each variable in exactly one place', () => {
    const helpers = read('charts/partner-relay/templates/_helpers.tpl');
    const missing = variables.filter(([name, field]) => {
      const places = [
        properties['config']?.properties[name] !== undefined,
        properties['secretKeys']?.properties[name] !== undefined,
        // Settings that follow from other values; REDIS_URL stands there as a secret and, without a password, as a setting.
        new RegExp(`set \\$settings "${name}"|variable: ${name},`).test(helpers) && !['RELAY_ENV'].includes(name),
      ];
      const isOverridden = /^(?:EGRESS_ALLOW_|KAFKA_TOPIC_REPLICATION)/.test(name); // by development.enabled
      return places.filter(Boolean).length !== (isOverridden ? 2 : 1) || (isSecret(field) && places[0]);
    });
    expect(missing.map(([name]) => name)).toEqual([]);
  });

  it('writes numbers, flags and words as such', () => {
    expect(properties['config']?.properties).toMatchObject({
      DELIVERY_CONCURRENCY: { type: 'integer', minimum: 1 },
      REQUIRE_AUDIENCE: { type: 'boolean' },
      LOG_LEVEL: { enum: expect.arrayContaining(['info']) },
      DELIVERY_TIMEOUT: { pattern: expect.any(String) },
    });
  });

  it('has in docker-compose.yml only variables that there are, and all that are required', () => {
    const compose = read('docker-compose.yml');
    const relay = compose.slice(compose.indexOf('&relay-environment'), compose.indexOf('\nservices:'));
    const inServices = [...compose.matchAll(/<<: \*relay-environment,([^}]*)\}/g)].map(([, more = '']) => more);
    const written = [...`${relay}${inServices.join('\n')}`.matchAll(/\b([A-Z][A-Z_]+): /g)];
    const named = written.map(([, name = '']) => name.replace(/^(\w+_KEYS)_FILE$/, '$1'));
    expect(named.length).toBeGreaterThan(8);
    expect(named.filter((name) => !(name in shapes) && name !== 'CMD')).toEqual([]);
    const required = variables.filter(([, field]) => !field.safeParse(undefined).success).map(([name]) => name);
    expect(required.filter((name) => !named.includes(name))).toEqual([]);
  });
});

it('docker-compose.yml makes keys that the relay reads, keeps them, and takes those that are given', () => {
  const folder = mkdtempSync(join(tmpdir(), 'relay-compose-keys-'));
  const program = parse(read('docker-compose.yml'), { merge: true }).services.keys.command[0] as string;
  const keys = (env: Record<string, string> = {}): string[] => {
    execFileSync(process.execPath, ['-e', program.replaceAll("'/keys/'", JSON.stringify(`${folder}/`))], { env });
    return ['ENCRYPTION_KEYS', 'JWT_PRIVATE_KEYS'].map((name) => readFileSync(join(folder, name), 'utf8'));
  };
  try {
    const [encryption = '', signing = ''] = keys();
    expect(Keyring.parse(encryption).kids).toEqual(['k1']);
    expect(() => parseSigningKeys(signing)).not.toThrow();
    expect(keys({ ENCRYPTION_KEYS: '' })).toEqual([encryption, signing]);
    expect(keys({ ENCRYPTION_KEYS: 'k2:given' })).toEqual(['k2:given', signing]);
    expect(keys()).toEqual(['k2:given', signing]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

describe('docs/configuration.md', () => {
  const rows = configurationPage()
    .split('\n')
    .filter((line) => line.startsWith('| `'));
  const rowOf = (name: string) => rows.find((line) => line.startsWith(`| \`${name}\` `))?.replaceAll(/ +/g, ' ');

  it('is what the schemas say (write it anew with `npx node scripts/docs.mjs`)', () => {
    const page = read('docs/configuration.md');
    expect(page).toBe(configurationPage());
  });

  it('tells the meaning of every variable', () => {
    expect(rows.length).toBeGreaterThan(30);
    expect(rows.filter((row) => /\|\s*\|$/.test(row))).toEqual([]);
  });

  it.each([
    ['KAFKA_BROKERS', 'ingress, worker, operations, relay', '**required**'],
    ['REDIS_SENTINELS', 'ingress, worker, operations, relay', 'empty'],
    ['ENCRYPTION_KEYS', 'ingress, worker, operations, relay', '**required** | secret'],
    ['REDIS_URL', 'ingress, worker, operations, relay', 'not set | secret'],
    ['DELIVERY_TIMEOUT', 'worker', '`15s`'],
    ['RELAY_ENV', 'ingress, worker, operations, relay', '`production`'],
    ['DEDUPE_WINDOW', 'ingress, worker, relay', '`72h`'],
  ])('names the readers and the default of %s', (name, readers, byDefault) => {
    expect(rowOf(name)).toContain(`| ${readers} | ${byDefault} |`);
  });

  it.each([
    ['KAFKA_SASL_MECHANISM', '`plain`, `scram-sha-256`, `scram-sha-512`, `oauthbearer`'],
    ['RELAY_ENV', '`development`, `production`'],
    ['REQUIRE_AUDIENCE', '`true`, `false`'],
    ['KAFKA_TOPIC_PARTITIONS', '1 to 10000'],
    ['HISTORY_WINDOW', '1m to 30d'],
    ['DELIVERY_TIMEOUT', 'at most 5m'],
    ['OTEL_TRACES_SAMPLER_ARG', '0 to 1'],
  ])('says what %s may be', (name, values) => {
    expect(rowOf(name)).toContain(`| ${values} |`);
  });
});
