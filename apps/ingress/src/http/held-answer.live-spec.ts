import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Get, Module } from '@nestjs/common';
import { Registry } from 'prom-client';
import { Access } from '@relay/http';
import { ErrorsModule } from '../documents/documents.module.js';
import { appOfSpec } from './spec-app.js';

const MIB = 1024 * 1024;
const ASK = 'GET /things HTTP/1.1\r\nhost: relay\r\n\r\n';

@Controller('things')
@Access({ kind: 'public' })
class ThingsController {
  @Get()
  list(): object {
    return { long: 'x'.repeat(MIB) };
  }
}

@Module({ controllers: [ThingsController] })
class ThingsModule {}

let opened: Socket[] = [];
afterAll(() => {
  for (const socket of opened) socket.destroy();
});
const spec = await appOfSpec([ErrorsModule, ThingsModule], { MAX_BUFFERED_BYTES: String(32 * MIB) });

const held = async (): Promise<number> => {
  const text = await spec.app.get<Registry>(Registry).metrics();
  return Number(/^relay_http_buffered_bytes (\S+)$/m.exec(text)?.[1]);
};

async function open(sent: string): Promise<Socket> {
  const socket = connect(Number(new URL(spec.url).port), '127.0.0.1');
  opened.push(socket);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(sent);
  return socket;
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let n = 0; n < 200; n += 1) {
    if (await condition()) return;
    await delay(50);
  }
  throw new Error('waited in vain');
}

describe('answers that their caller does not read', () => {
  it('are held to the share of one caller, and what has no room is answered 503', async () => {
    let refused = await fetch(`${spec.url}/things`);
    for (let n = 0; n < 12; n += 1) (await open('')).pause();
    // The first answers of a connection are in the kernel.
    for (let n = 0; n < 40 && refused.status === 200; n += 1) {
      await refused.text();
      for (const socket of opened) socket.write(ASK);
      expect(await held()).toBeLessThanOrEqual(8 * MIB);
      refused = await fetch(`${spec.url}/things`);
    }
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(refused.headers.get('content-type')).toBe('application/problem+json');
    expect(await refused.json()).toMatchObject({ status: 503 });
  });

  it('take no more room once their connections have ended', async () => {
    for (const socket of opened) socket.destroy();
    opened = [];
    await until(async () => (await held()) === 0);
    expect((await fetch(`${spec.url}/things`)).status).toBe(200);
    await until(async () => (await held()) === 0);
  });

  it('end their connection where its unread body comes in pieces of one byte', async () => {
    const head =
      'POST /things HTTP/1.1\r\nhost: relay\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n';
    const socket = await open(`${head}${'1\r\nx\r\n'.repeat(5_000)}`);
    socket.resume();
    await once(socket, 'close', { signal: AbortSignal.timeout(5_000) });
  });
});
