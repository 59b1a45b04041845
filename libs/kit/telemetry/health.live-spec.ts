import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Gauge, Registry } from 'prom-client';
import { Health, serveHealth } from './health.js';

describe('the health port', () => {
  let server: Server;
  let port: number;
  let opened: Socket[] = [];
  let collected = 0;
  beforeAll(async () => {
    const metrics = new Registry();
    const collect = async (): Promise<void> => {
      collected += 1;
      await delay(50);
    };
    metrics.registerMetric(new Gauge({ name: 'things', help: 'Things.', registers: [], collect }));
    server = await serveHealth(0, new Health(), metrics);
    port = (server.address() as AddressInfo).port;
  });
  afterEach(() => {
    for (const socket of opened) socket.destroy();
    opened = [];
  });
  afterAll(() => server.close());

  const url = (path: string): string => `http://127.0.0.1:${port}${path}`;

  async function open(sent = ''): Promise<Socket> {
    const socket = connect(port, '127.0.0.1');
    opened.push(socket);
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(sent);
    return socket;
  }

  it('answers a probe however many connections are held open without a word', async () => {
    for (let n = 0; n < 300; n += 1) await open();
    expect((await fetch(url('/health/live'))).status).toBe(200);
  });

  it('collects metrics once for all who ask at the same moment', async () => {
    collected = 0;
    const answers = await Promise.all(Array.from({ length: 20 }, () => fetch(url('/metrics'))));
    expect(new Set(await Promise.all(answers.map((answer) => answer.text()))).size).toBe(1);
    expect(collected).toBeLessThanOrEqual(2);
  });

  it('begins with one request of a connection at a time', async () => {
    collected = 0;
    const socket = await open('GET /metrics HTTP/1.1\r\nhost: relay\r\n\r\n'.repeat(1_000));
    await once(socket, 'close');
    await delay(100);
    expect(collected).toBeLessThanOrEqual(1);
  });
});
