import { once } from 'node:events';
import { connect } from 'node:net';
import { Controller, Get, Module } from '@nestjs/common';
import { Access } from '@relay/http';
import { ErrorsModule } from '../documents/documents.module.js';
import { appOfSpec } from './spec-app.js';

let begun = 0;

@Controller('things')
@Access({ kind: 'public' })
class ThingsController {
  @Get()
  list(): object {
    begun += 1;
    return { begun };
  }
}

@Module({ controllers: [ThingsController] })
class ThingsModule {}

const spec = await appOfSpec([ErrorsModule, ThingsModule]);

/** Sends requests in one piece; returns the bodies of their answers once the connection has ended. */
async function sendAtOnce(count: number): Promise<string[]> {
  const socket = connect(Number(new URL(spec.url).port), '127.0.0.1');
  let text = '';
  socket.on('error', () => undefined).on('data', (chunk) => (text += chunk.toString()));
  const last = 'GET /things HTTP/1.1\r\nhost: relay\r\nconnection: close\r\n\r\n';
  socket.write('GET /things HTTP/1.1\r\nhost: relay\r\n\r\n'.repeat(count - 1) + last);
  await once(socket, 'close');
  return text.match(/\{"begun":\d+\}/g) ?? [];
}

describe('requests that a connection sends before the first is answered', () => {
  it('are answered in their order when they are few', async () => {
    begun = 0;
    expect(await sendAtOnce(8)).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((n) => `{"begun":${n}}`));
  });

  it('end the connection when they are many, and most are neither begun nor even parsed', async () => {
    begun = 0;
    let parsed = 0;
    spec.app.getHttpServer().on('request', () => (parsed += 1));
    expect(await sendAtOnce(1_000)).toEqual([]);
    expect(begun).toBeLessThanOrEqual(8);
    expect(parsed).toBe(9);
  });

  it('end the connection also when no path of theirs can be read', async () => {
    const answers = await spec.raw('GET /% HTTP/1.1\r\n\r\n'.repeat(1_000));
    expect(answers.match(/HTTP\/1\.1 /g)?.length ?? 0).toBeLessThanOrEqual(8);
  });

  const head = (more = ''): string => `GET /things HTTP/1.1\r\nhost: relay\r\n${more}\r\n`;
  const cut = `POST /things HTTP/1.1\r\nhost: relay\r\ntransfer-encoding: chunked\r\n\r\nno size\r\n`;
  it.each([
    ['bytes that are no HTTP', head() + head() + '\u0000\u0001 no HTTP\r\n\r\n', ['200', '200', '400']],
    ['a request whose body is no HTTP', head() + cut, ['200', '400']],
    ['a request behind one that ends the connection', head('connection: close\r\n') + head(), ['200']],
    ['bytes behind one that ends the connection', head('connection: close\r\n') + '\u0000\u0001', ['200']],
    ['bytes alone', '\u0000\u0001\r\n\r\n', ['400']],
  ])('are answered before %s', async (_name, sent, statuses) => {
    begun = 0;
    const answers = await spec.raw(sent);
    expect([...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(statuses);
    expect(begun).toBe(statuses.filter((status) => status === '200').length);
  });

  it('count only until they are answered', async () => {
    for (let n = 0; n < 30; n += 1) expect((await fetch(`${spec.url}/things`)).status).toBe(200);
  });
});
