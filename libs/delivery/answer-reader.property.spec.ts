import { Agent, request } from 'node:http';
import { Duplex } from 'node:stream';
import * as fc from 'fast-check';
import { AnswerReader, ProtocolFault } from './answer-reader.js';

const LIMITS = { headBytes: 16_384, bodyBytes: 16_384, interimAnswers: 16, keptBytes: 20 };

interface Seen {
  readonly status: number | undefined;
  /** Whether the answer ended and another one could follow on the connection. */
  readonly isWhole: boolean;
}

function ours(bytes: Buffer, sizes: readonly number[]): Seen {
  const reader = new AnswerReader(LIMITS);
  const isWhole = (progress: string): boolean => progress === 'end' && reader.head?.closes === false && !reader.hasMore;
  try {
    for (let at = 0, piece = 0; at < bytes.length; piece += 1) {
      const size = sizes[piece % sizes.length] ?? 1;
      const progress = reader.read(bytes.subarray(at, at + size));
      at += size;
      if (progress !== 'more') {
        const isAll = at >= bytes.length;
        return { status: reader.head?.status, isWhole: isAll && isWhole(progress) };
      }
    }
  } catch (fault) {
    if (!(fault instanceof ProtocolFault)) throw fault;
  }
  return { status: reader.head?.status, isWhole: false };
}

/** The status for which Node's client, whose parser is llhttp, would keep a connection that brings these bytes and ends. */
function nodes(bytes: Buffer): Promise<number | undefined> {
  return new Promise((resolve) => {
    const connection = new Duplex({ read: () => undefined, write: (_, __, done) => done() });
    const same = (): Duplex => connection;
    // What the agent calls of a socket that it would keep.
    Object.assign(connection, { setKeepAlive: same, setTimeout: same, ref: same, unref: same });
    const agent = Object.assign(new Agent({ keepAlive: true }), { createConnection: same });
    const asked = request({ method: 'POST', agent });
    asked.on('error', () => resolve(undefined));
    asked.on('upgrade', () => resolve(undefined));
    asked.on('response', (response) => {
      response.resume().on('error', () => resolve(undefined));
      response.on('end', () => {
        resolve(response.complete && asked.shouldKeepAlive ? response.statusCode : undefined);
        connection.destroy();
      });
    });
    asked.end('x', () => {
      connection.push(bytes);
      connection.push(null);
    });
  });
}

const field = fc.constantFrom(
  'content-length: 2',
  'Content-Length:0',
  'content-length: 5 ',
  'transfer-encoding: chunked',
  'transfer-encoding: gzip, chunked',
  'connection: close',
  'Connection: keep-alive',
  'content-encoding: gzip',
  'keep-alive: timeout=5, max=9',
  'retry-after: 3',
  'x-text: \t some text',
  'set-cookie: a=b; Path=/',
  'x:',
);
const head = fc
  .tuple(
    fc.constantFrom('HTTP/1.1 200 OK', 'HTTP/1.0 500 x', 'HTTP/1.1 204', 'HTTP/1.1 304 ', 'HTTP/1.1 103 Early'),
    fc.array(field, { maxLength: 5 }),
  )
  .map(([status, fields]) => [status, ...fields, '', ''].join('\r\n'));
const body = fc.constantFrom(
  '',
  'ok',
  '0\r\n\r\n',
  '2\r\nok\r\n0\r\n\r\n',
  '5;x\r\nhello\r\n0\r\nt: u\r\n\r\n',
  'hello',
);
const answer = fc
  .tuple(fc.array(head, { minLength: 1, maxLength: 2 }), body)
  .map(([heads, rest]) => heads.join('') + rest);
/** One byte more, less or another. */
const change = fc.record({
  at: fc.nat({ max: 300 }),
  drop: fc.nat({ max: 1 }),
  put: fc.constantFrom('', '\r', '\n', ' ', '\t', ':', '\0', 'x', '1', '\x80', ',', ';'),
});
const changed = fc.tuple(answer, fc.array(change, { maxLength: 2 })).map(([text, changes]) =>
  Buffer.from(
    changes.reduce((now, { at, drop, put }) => now.slice(0, at) + put + now.slice(at + drop), text),
    'latin1',
  ),
);
const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });

describe('the reader of answers', () => {
  it('makes the same of an answer in whatever pieces it comes', () => {
    fc.assert(
      fc.property(changed, sizes, (bytes, pieces) => {
        expect(ours(bytes, pieces)).toEqual(ours(bytes, [bytes.length + 1]));
      }),
      { numRuns: 3_000 },
    );
  });

  it('keeps a connection behind no answer that llhttp refuses, closes it behind, or takes for another status', async () => {
    await fc.assert(
      fc.asyncProperty(changed, async (bytes) => {
        const seen = ours(bytes, [bytes.length + 1]);
        const taken = seen.isWhole ? seen.status : undefined;
        expect(taken === undefined ? undefined : await nodes(bytes)).toBe(taken);
      }),
      { numRuns: 2_000 },
    );
  });
});
