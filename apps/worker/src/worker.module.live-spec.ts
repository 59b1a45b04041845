import { parseEnv } from '@relay/config';
import { Test } from '@nestjs/testing';
import { startRedisServer } from '@relay/testing';
import { Redis } from 'ioredis';
import { QUEUE_REDIS } from './platform/tokens.js';
import { QueueConsumer } from './queued-attempts/queue-consumer.js';
import { AttemptLog } from './delivery/attempt-reports.js';
import { FanOutConsumer } from './fan-out/fan-out.consumer.js';
import { KafkaLogStrategy } from './log/kafka-log.strategy.js';
import { WorkerEnv } from '@relay/settings';
import { WorkerModule } from './worker.module.js';

describe('the worker', () => {
  it('is assembled without a missing part', async () => {
    const server = await startRedisServer();
    const env = {
      KAFKA_BROKERS: '127.0.0.1:1',
      REDIS_URL: server.url(),
      ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
      LOG_LEVEL: 'silent',
    };
    const config = parseEnv(WorkerEnv, env, () => '');
    const app = await Test.createTestingModule({ imports: [WorkerModule.register(config, () => undefined)] }).compile();
    for (const part of [FanOutConsumer, KafkaLogStrategy, QueueConsumer]) expect(app.get(part)).toBeInstanceOf(part);
    await app.get(QueueConsumer).close();
    await app.get(AttemptLog).close();
    app.get(Redis).disconnect();
    app.get<Redis>(QUEUE_REDIS).disconnect();
    await server.stop();
  });
});
