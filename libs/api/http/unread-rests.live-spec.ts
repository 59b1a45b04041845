import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { UnreadRests } from './connections.js';

const MIB = 1_048_576;
const BODY = 32 * MIB;
const PIECES = 2;
const NEVER_MS = 2 ** 31 - 1;

describe('UnreadRests', () => {
  // Only the spec lets anything be read.
  const rests = new UnreadRests(PIECES, NEVER_MS);
  const sockets: Socket[] = [];
  const ended: IncomingMessage[] = [];
  let server: Server;
  beforeAll(async () => {
    server = createServer((request, response) => {
      sockets.push(request.socket);
      rests.add(request);
      request.on('end', () => ended.push(request));
      response.writeHead(401, { 'content-length': 0 }).end();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const readBytes = (): number => sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
  /** Bytes read once nothing moves any more. */
  async function settled(): Promise<number> {
    for (let before = -1, now = readBytes(); ; before = now, now = readBytes()) {
      if (before === now) return now;
      await delay(50);
    }
  }

  it('lets a request end at once whose body came in one read', async () => {
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    client.on('error', () => undefined).resume();
    client.write('POST / HTTP/1.1\r\nhost: relay\r\ncontent-length: 2\r\n\r\n{}');
    while (ended.length < 1) await delay(10);
    client.destroy();
    sockets.length = 0;
  });

  it('reads of all connections together as much as is allowed at a time, to the end, and takes the next request', async () => {
    const answers: string[] = [];
    const clients = Array.from({ length: 5 }, (_, n) => {
      const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
      answers[n] = '';
      client.on('error', () => undefined).on('data', (chunk) => (answers[n] += chunk.toString('latin1')));
      client.write(`POST / HTTP/1.1\r\nhost: relay\r\ncontent-length: ${BODY}\r\n\r\n`);
      client.write(Buffer.alloc(BODY));
      return client;
    });
    while (answers.some((answer) => !answer.startsWith('HTTP/1.1 401'))) await delay(10);
    const before = await settled();
    expect(before).toBeLessThan(5 * 4 * MIB);
    const turns = 5;
    for (let turn = 0; turn < turns; turn += 1) {
      rests.readOn();
      await settled();
    }
    const read = readBytes() - before;
    expect(read).toBeGreaterThan(0);
    expect(read).toBeLessThanOrEqual(turns * PIECES * 131_072);
    const done = setInterval(() => rests.readOn(), 1);
    while (readBytes() < 5 * BODY) await delay(10);
    clearInterval(done);
    for (const client of clients) client.write('GET / HTTP/1.1\r\nhost: relay\r\n\r\n');
    while (answers.some((answer) => answer.match(/HTTP\/1\.1 401/g)?.length !== 2)) await delay(10);
    for (const client of clients) client.destroy();
  });
});
