import { ThrottledLog, type Log } from '@relay/telemetry';
import { Registry } from 'prom-client';
import { registerStoreGauges, type StoreSources } from './gauges.js';

const silent: Log = { error() {}, warn() {}, info() {}, debug() {} };
const well: StoreSources = {
  parked: async () => 2,
  notices: async () => 3,
  replays: async () => ({ replays: { running: 1, paused: 0 }, deliveries: { done: 8, failed: 2, left: 4 } }),
  queues: async () => [
    { queue: 'deliveries', state: 'delayed', jobs: 3, oldestS: 1.5 },
    { queue: 'dead-letters', state: 'waiting', jobs: 2, oldestS: 10 },
    { queue: 'dead-letters', state: 'failed', jobs: 1, oldestS: 1 },
  ],
  lag: async () => [{ topic: 'task.created', lag: 7 }],
  memory: async () => ({ used: 5, max: 10 }),
  disks: async () => ({ isWell: false, uptimeS: 9 }),
  webhooks: async () => ({ active: 2, disabled: 1 }),
};
const away = (): Promise<never> => Promise.reject(new Error('away'));
const scrape = async (sources: Partial<StoreSources>): Promise<string[]> => {
  const registry = new Registry();
  registerStoreGauges(registry, { ...well, ...sources }, new ThrottledLog(silent));
  return (await registry.metrics()).split('\n').filter((line) => line.startsWith('relay_'));
};

describe('the gauges of the stores', () => {
  it('report the readings of the stores', async () => {
    expect(await scrape({})).toEqual([
      'relay_queue_jobs{queue="deliveries",state="delayed"} 3',
      'relay_queue_jobs{queue="dead-letters",state="waiting"} 2',
      'relay_queue_jobs{queue="dead-letters",state="failed"} 1',
      'relay_queue_oldest_job_age_seconds{queue="deliveries",state="delayed"} 1.5',
      'relay_queue_oldest_job_age_seconds{queue="dead-letters",state="waiting"} 10',
      'relay_queue_oldest_job_age_seconds{queue="dead-letters",state="failed"} 1',
      'relay_dead_letters 3',
      'relay_kafka_consumer_lag{topic="task.created"} 7',
      'relay_redis_memory_used_bytes 5',
      'relay_redis_memory_max_bytes 10',
      'relay_redis_disk_ok 0',
      'relay_redis_uptime_seconds 9',
      'relay_webhooks{status="active"} 2',
      'relay_webhooks{status="disabled"} 1',
      'relay_webhooks_parked 2',
      'relay_notices_waiting 3',
      'relay_replays{state="running"} 1',
      'relay_replays{state="paused"} 0',
      'relay_replay_deliveries{result="done"} 8',
      'relay_replay_deliveries{result="failed"} 2',
      'relay_replay_deliveries{result="left"} 4',
    ]);
  });

  it.each<[keyof StoreSources, string]>([
    ['queues', 'relay_dead_letters'],
    ['lag', 'relay_kafka_consumer_lag'],
    ['memory', 'relay_redis_memory_used_bytes'],
    ['disks', 'relay_redis_disk_ok'],
    ['webhooks', 'relay_webhooks{'],
    ['parked', 'relay_webhooks_parked'],
    ['notices', 'relay_notices_waiting'],
    ['replays', 'relay_replay'],
  ])('leave out %s while their store is away, instead of reporting 0', async (source, name) => {
    const lines = await scrape({ [source]: away });
    expect(lines.filter((line) => line.startsWith(name))).toEqual([]);
    expect(lines.length).toBeGreaterThan(3);
  });

  it('read a store once for any number of gauges and scrapes', async () => {
    let asked = 0;
    const registry = new Registry();
    const queues: StoreSources['queues'] = () => {
      asked += 1;
      return well.queues();
    };
    registerStoreGauges(registry, { ...well, queues }, new ThrottledLog(silent));
    await Promise.all([registry.metrics(), registry.metrics()]);
    expect(asked).toBe(1);
  });
});
