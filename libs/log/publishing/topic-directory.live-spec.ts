import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { connectKafka } from '@relay/kafka';
import type { Log } from '@relay/telemetry';
import { TopicDirectory } from './topic-directory.adapter.js';

const silent: Log = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };

describe('the directory of topics', () => {
  const sockets = new Set<Socket>();
  let mute: Server;
  beforeEach(async () => {
    mute = createServer((socket) => sockets.add(socket.on('error', () => undefined)));
    mute.listen(0, '127.0.0.1');
    await once(mute, 'listening');
  });
  afterEach(() => {
    mute.close();
    for (const socket of sockets) socket.destroy();
  });

  it.each([
    ['with a login', 'scram-sha-512'],
    ['without one', undefined],
  ] as const)('knows after 12 s a broker that takes connections and answers nothing, %s', async (_, mechanism) => {
    const { port } = mute.address() as AddressInfo;
    const kafka = connectKafka(
      {
        KAFKA_BROKERS: [`127.0.0.1:${port}`],
        KAFKA_CLIENT_ID: 'spec',
        KAFKA_SASL_MECHANISM: mechanism,
        KAFKA_SASL_USERNAME: 'user',
        KAFKA_SASL_PASSWORD: 'password',
      },
      () => undefined,
    );
    const directory = new TopicDirectory(kafka, silent, () => undefined);
    await expect(directory.look('task.created')).rejects.toThrow(/did not answer/);
    expect(directory.fault).toMatch(/did not answer/);
    directory.close();
  });
});
