import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../support/until.js';
import { size, type Arena, type Attack } from '../arena.js';
import { flood, statuses } from '../caller.js';
import { MIB, peakOf, rssOf } from '../figures.js';
import type { Verdict } from '../verdict.js';

const BATCH_BYTES = 4 * MIB;
const HELD = 200;
const UNREAD = size(100, 4);
/** Node reads so much of a connection at once, and begins with each request that it finds in there. */
const READ_AT_ONCE = 65_536;
const ASK = 'GET /openapi.json HTTP/1.1\r\nhost: relay\r\n\r\n';
/** The router refuses it before any hook of ours runs. */
const ASK_NOTHING = 'GET /% HTTP/1.1\r\n\r\n';
const IN_PIECES =
  'POST /deliveries HTTP/1.1\r\nhost: relay\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n';
/** A chunk of a body. Node hands each one over in a Buffer of its own. */
const ONE_BYTE = '1\r\nx\r\n';
const PIECED = size(1_000, 200);
const LISTED = size(400, 200);
const UNREAD_LISTS = size(400, 200);
const LIST_MS = 40;
const IDLE = size(5_000, 500);
const HOLD_MS = size(12_000, 2_000);
/** Longer than Node waits for the rest of a request, so that its end is in it. */
const HALF_SENT_MS = size(45_000, 2_000);
const piece = Buffer.alloc(64 * 1_024, ' ');

/** A connection to the ingress that keeps what it was answered. */
class Line {
  answer = '';

  private constructor(readonly socket: Socket) {
    socket.on('error', () => undefined).on('data', (chunk) => (this.answer += chunk.toString('latin1')));
  }

  static async open(port: number): Promise<Line> {
    const line = new Line(connect(port, '127.0.0.1'));
    await line.#either('connect');
    return line;
  }

  get status(): number {
    return Number(/^HTTP\/1\.1 (\d{3})/.exec(this.answer)?.[1] ?? 0);
  }

  /** Waits for this or the end of the connection; the relay may also read no further, for good. */
  async #either(event: 'connect' | 'drain'): Promise<void> {
    const over = new AbortController();
    const heard = ['close', event].map((name) => once(this.socket, name, { signal: over.signal }));
    await Promise.race([...heard, delay(2_000, undefined, { signal: over.signal })]).catch(() => undefined);
    over.abort();
    await Promise.allSettled(heard);
  }

  /** Asks again and again, as often as is read at once, and reads nothing of the answers. */
  async askAndIgnore(ask: string): Promise<void> {
    this.socket.pause();
    this.socket.write(ask.repeat(Math.floor(READ_AT_ONCE / ask.length)));
    await delay(0);
  }

  /** Announces a batch of 4 MiB and sends all of it but the last byte, or until it is answered. */
  async sendHalf(authorization: string): Promise<void> {
    const head = [
      'POST /deliveries/batch HTTP/1.1',
      'host: relay',
      'content-type: application/x-ndjson',
      `content-length: ${BATCH_BYTES}`,
      ...(authorization === '' ? [] : [`authorization: ${authorization}`]),
    ];
    this.socket.write(`${head.join('\r\n')}\r\n\r\n`);
    for (let left = BATCH_BYTES - 1; left > 0 && !this.socket.destroyed && this.status === 0; left -= piece.length) {
      if (this.socket.write(piece.subarray(0, Math.min(left, piece.length)))) await delay(0);
      else await this.#either('drain');
    }
  }
}

/** @param refused how many are refused at the least, and with which status, by when all have sent what they send */
async function halfSent(
  { ingress }: Arena,
  verdict: Verdict,
  authorization: string,
  refused: { status: number; count: number },
): Promise<readonly Line[]> {
  const before = rssOf(ingress.pid);
  const lines = await Promise.all(Array.from({ length: HELD }, () => Line.open(ingress.port)));
  await Promise.all(lines.map((line) => line.sendHalf(authorization)));
  const areRefused = (): boolean => lines.filter(({ status }) => status === refused.status).length >= refused.count;
  await until('so many are refused', () => areRefused() || rssOf(ingress.pid) === 0).catch(() => undefined);
  await delay(HALF_SENT_MS);
  verdict.tell('peak MiB above the start', (peakOf(ingress.pid) - before) / MIB);
  verdict.tell('answers', statuses(lines));
  for (const { socket } of lines) socket.destroy();
  return lines;
}

const unread = (what: string, ask: string): Attack => ({
  name: `nobody asks for ${what} on ${UNREAD} connections, each as often as is read at once, and reads no answer`,
  run: async (arena, verdict) => {
    const before = rssOf(arena.ingress.pid);
    const lines = await Promise.all(Array.from({ length: UNREAD }, () => Line.open(arena.ingress.port)));
    await Promise.all(lines.map((line) => line.askAndIgnore(ask)));
    await delay(HOLD_MS);
    verdict.atMost('MiB that their answers took', (peakOf(arena.ingress.pid) - before) / MIB, 128);
    for (const { socket } of lines) socket.destroy();
  },
});

const inPieces: Attack = {
  name: `nobody sends bodies on ${PIECED} connections in pieces of one byte`,
  // Node parses what a read brought to its end: 64 KiB of them take over a millisecond of each connection.
  maxWaitMs: 3_000,
  run: async (arena, verdict) => {
    const before = rssOf(arena.ingress.pid);
    const lines = await Promise.all(Array.from({ length: PIECED }, () => Line.open(arena.ingress.port)));
    for (const { socket } of lines) {
      socket.write(IN_PIECES);
      socket.write(ONE_BYTE.repeat(READ_AT_ONCE));
    }
    await delay(HOLD_MS);
    verdict.tell('answers', statuses(lines));
    verdict.atMost('MiB that their bodies took', (peakOf(arena.ingress.pid) - before) / MIB, 128);
    for (const { socket } of lines) socket.destroy();
  },
};

export const connections: readonly Attack[] = [
  {
    name: 'nobody holds back the last byte of 200 bodies of 4 MiB',
    run: async (arena, verdict) => {
      const before = rssOf(arena.ingress.pid);
      const lines = await halfSent(arena, verdict, '', { status: 401, count: HELD });
      verdict.atLeast('refused before their bodies', lines.filter(({ status }) => status === 401).length, HELD);
      // The first attack: the heap of a process that has just started grows by itself. Buffered they would take 800.
      verdict.atMost('MiB that their bodies took', (peakOf(arena.ingress.pid) - before) / MIB, 160);
    },
  },
  {
    name: 'a source holds back the last byte of 200 bodies of 4 MiB',
    run: async (arena, verdict) => {
      const source = await arena.client('source', 'holder');
      const lines = await halfSent(arena, verdict, `Bearer ${await source.token()}`, { status: 503, count: HELD / 2 });
      const refused = lines.filter(({ status }) => status === 503);
      const told = refused.filter(({ answer }) => /^retry-after: \d+/im.test(answer));
      verdict.atLeast('refused for want of room, and told when to come back', told.length, HELD / 2);
    },
  },
  {
    name: `nobody keeps ${IDLE} connections open without a word`,
    run: async (arena, verdict) => {
      const sockets: Line[] = [];
      for (let n = 0; n < IDLE; n += 250)
        sockets.push(...(await Promise.all(Array.from({ length: 250 }, () => Line.open(arena.ingress.port)))));
      for (const { socket } of sockets.slice(IDLE / 2)) socket.write('POST /deliveries HTTP/1.1\r\nhost: rel');
      await delay(HOLD_MS);
      verdict.tell('still open', sockets.filter(({ socket }) => !socket.destroyed).length);
      for (const { socket } of sockets) socket.destroy();
    },
  },
  inPieces,
  {
    name: `a partner lists its ${LISTED} webhooks on ${UNREAD_LISTS} connections, eight times each, and reads no answer`,
    run: async (arena, verdict) => {
      const partner = await arena.client('partner', 'deaf');
      const caller = await arena.callerAs(partner);
      const path = 'p'.repeat(2_000);
      await flood(LISTED, 16, (n) =>
        caller.send('POST', '/webhooks', {
          eventType: 'plan.created',
          endPointUrl: `http://127.9.${n >> 8}.${n & 255}:9/${path}`,
          apiKey: 'k',
        }),
      );
      const before = rssOf(arena.ingress.pid);
      const lines = await Promise.all(Array.from({ length: UNREAD_LISTS }, () => Line.open(arena.ingress.port)));
      const ask = `GET /webhooks HTTP/1.1\r\nhost: relay\r\nauthorization: Bearer ${await partner.token()}\r\n\r\n`;
      for (const { socket } of lines) socket.pause();
      // Few lists of a partner are read at once.
      for (const { socket } of lines) {
        socket.write(ask.repeat(8));
        await delay(LIST_MS);
      }
      await delay(HOLD_MS);
      verdict.atMost('MiB that their answers took', (peakOf(arena.ingress.pid) - before) / MIB, 192);
      for (const { socket } of lines) socket.destroy();
      caller.close();
      await arena.stack.relay('webhooks', 'delete', '--partner', partner.clientId, '--yes');
    },
  },
  unread('a document', ASK),
  unread('a path that cannot be read', ASK_NOTHING),
];
