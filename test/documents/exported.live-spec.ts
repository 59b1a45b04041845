import { readFileSync } from 'node:fs';
import { startRedisServer, type RedisServer } from '@relay/testing';
import { exportedMetrics, type Exported } from './exported-metrics.js';

/** The metrics of docs/operations/metrics.md, by the process that counts. */
const CONTRACT = {
  ingress: ['relay_ingress_events_total', 'relay_publish_duration_seconds', 'relay_build_info'],
  worker: [
    'relay_deliveries_total',
    'relay_delivery_attempts_total',
    'relay_delivery_attempt_duration_seconds',
    'relay_end_to_end_latency_seconds',
    'relay_queue_jobs',
    'relay_queue_oldest_job_age_seconds',
    'relay_dead_letters',
    'relay_dedupe_hits_total',
    'relay_kafka_consumer_lag',
    'relay_endpoints',
    'relay_webhooks_parked',
    'relay_parked_deliveries',
    'relay_build_info',
  ],
  operations: ['relay_key_age_seconds', 'relay_ready', 'relay_build_info'],
};

/** The table of docs/operations/metrics.md: labels and the processes that tell. */
const documented = [
  ...readFileSync(new URL('../../docs/operations/metrics.md', import.meta.url), 'utf8').matchAll(
    /^\| `((?:relay|http)_\w+)` +\| ([^|]*?) +\| ([\w, ]+?) +\|/gm,
  ),
].map(([, name = '', labels = '', process = '']) => ({
  name,
  labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label),
  roles: process === 'all' ? Object.keys(CONTRACT) : process.split(', '),
}));

describe('the metrics', () => {
  let server: RedisServer;
  let metrics: Exported[];
  beforeAll(async () => {
    server = await startRedisServer();
    metrics = await exportedMetrics(server.url());
  });
  afterAll(() => server.stop());
  const named = (name: string) => metrics.find((one) => one.name === name);

  it.each(Object.entries(CONTRACT))('include those that the contract names, in the %s', (role, names) => {
    expect(names.filter((name) => named(name)?.roles.includes(role) !== true)).toEqual([]);
  });

  it('are those of docs/operations/metrics.md, with these labels, told by these processes', () => {
    const told = metrics.map(({ name, labels, roles }) => ({ name, labels, roles }));
    const byName = (a: { name: string }, b: { name: string }) => a.name.localeCompare(b.name);
    expect(told.toSorted(byName)).toEqual(documented.toSorted(byName));
  });

  it('have the labels of the contract', () => {
    const labelsOf = (name: string) => named(name)?.labels;
    expect(labelsOf('relay_ingress_events_total')).toEqual(['event_type', 'result']);
    expect(labelsOf('relay_deliveries_total')).toEqual(['event_type', 'outcome']);
    expect(labelsOf('relay_delivery_attempts_total')).toEqual(['event_type', 'status_class', 'error_type']);
    expect(labelsOf('relay_queue_jobs')).toEqual(['queue', 'state']);
    expect(labelsOf('relay_queue_oldest_job_age_seconds')).toEqual(['queue', 'state']);
    expect(labelsOf('relay_kafka_consumer_lag')).toEqual(['topic']);
    expect(labelsOf('relay_endpoints')).toEqual(['state']);
  });

  it('carry no ids and no addresses as labels', () => {
    const allowed = new Set(
      'condition event_type result outcome status_class error_type queue shard state topic status use role version node reason http_request_method http_route http_response_status_code'.split(
        ' ',
      ),
    );
    expect(metrics.flatMap(({ labels }) => labels).filter((label) => !allowed.has(label))).toEqual([]);
  });

  it('say in their help when every replica tells the same', () => {
    const ofOneProcess = new Set([
      'relay_build_info',
      'relay_clock_ahead_seconds',
      'relay_cluster_ok',
      'relay_http_buffered_bytes',
      'relay_http_connections',
      'relay_keys_missing',
      'relay_endpoints',
      'relay_listen_behind_records',
      'relay_listen_streams',
      'relay_parked_deliveries',
      'relay_parked_oldest_age_seconds',
      'relay_ready',
      'relay_reading_paused',
      'relay_shard_partitions',
      'relay_shard_up',
    ]);
    const shared = metrics.filter(({ name, type }) => type === 'gauge' && !ofOneProcess.has(name));
    expect(shared.filter(({ help }) => !help.includes('take max(), not sum()')).map(({ name }) => name)).toEqual([]);
    expect(shared.length).toBeGreaterThan(5);
  });
});
