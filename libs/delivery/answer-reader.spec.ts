import { AnswerReader, ProtocolFault } from './answer-reader.js';

const LIMITS = { headBytes: 16_384, bodyBytes: 16_384, interimAnswers: 16, keptBytes: 20 };
const lines = (...all: string[]): string => [...all, '', ''].join('\r\n');

/** What is made of an answer that arrives in pieces of so many bytes. */
const read = (text: string, size = text.length) => {
  const reader = new AnswerReader(LIMITS);
  let progress = 'more';
  for (let at = 0; at < text.length && progress === 'more'; at += size)
    progress = reader.read(Buffer.from(text.slice(at, at + size), 'latin1'));
  const { head, hasMore } = reader;
  return { status: head?.status, progress, closes: head?.closes, hasMore };
};

describe('the reader of an answer', () => {
  it.each([
    ['with a length', lines('HTTP/1.1 200 OK', 'Content-Length: 2') + 'ok'],
    ['without a reason', lines('HTTP/1.1 200', 'content-length: 0')],
    ['without a body', lines('HTTP/1.1 200 No Content', 'content-length: 0')],
    ['behind interim ones', `${lines('HTTP/1.1 103 x', 'link: y')}${lines('HTTP/1.1 200 OK', 'content-length:2 ')}ok`],
    [
      'in chunks',
      lines('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked') + '2\r\nok\r\n0A;x=y\r\n0123456789\r\n0\r\n\r\n',
    ],
    [
      'in chunks, with trailers',
      lines('HTTP/1.1 200 OK', 'transfer-encoding: \tChunked') + '1\r\nx\r\n0\r\na: b\r\n\r\n',
    ],
    ['of HTTP/1.0 that keeps the connection', lines('HTTP/1.0 200 OK', 'connection: Keep-Alive', 'content-length: 0')],
  ])('finds the end of one %s, in whatever pieces it comes', (_, text) => {
    for (const size of [text.length, 1, 2, 7])
      expect(read(text, size)).toEqual({ status: 200, progress: 'end', closes: false, hasMore: false });
  });

  it.each([204, 304])('expects no body behind %i, whatever its head says', (status) => {
    const text = lines(`HTTP/1.1 ${status} x`, 'content-length: 5', 'retry-after: 1');
    expect(read(text)).toEqual({ status, progress: 'end', closes: true, hasMore: false });
    expect(read(`${text}hello`)).toMatchObject({ progress: 'end', hasMore: true });
  });

  it.each([204, 304, 103])('keeps no connection behind %i whose head promises a body', (status) => {
    const behind = status === 103 ? lines('HTTP/1.1 200 OK', 'content-length: 0') : '';
    const closes = (...fields: string[]) => read(lines(`HTTP/1.1 ${status} x`, ...fields) + behind).closes;
    for (const field of [
      'content-length: 1',
      'transfer-encoding: chunked',
      'transfer-encoding:',
      'content-encoding: gzip',
    ])
      expect([field, closes('x: y', field)]).toEqual([field, true]);
    expect([closes(), closes('content-length: 0')]).toEqual([false, false]);
  });

  it.each([
    ['it says so', lines('HTTP/1.1 200 OK', 'connection: x, CLOSE', 'content-length: 0'), 'end'],
    ['it is of HTTP/1.0', lines('HTTP/1.0 200 OK', 'content-length: 0'), 'end'],
    [
      'an interim one says so',
      `${lines('HTTP/1.1 103 x', 'connection: close')}${lines('HTTP/1.1 200 OK', 'content-length: 0')}`,
      'end',
    ],
    [
      'it is of HTTP/1.0 and in chunks',
      lines('HTTP/1.0 200 OK', 'connection: keep-alive', 'transfer-encoding: chunked') + '0\r\n\r\n',
      'end',
    ],
    ...['gzip, chunked', 'chunked, chunked', 'chunked\r\ntransfer-encoding: chunked'].map(
      (encodings): [string, string, string] => [
        `its encodings are ${encodings}`,
        lines('HTTP/1.1 200 OK', `transfer-encoding: ${encodings}`) + '0\r\n\r\n',
        'end',
      ],
    ),
    [
      'a no-break space is in its encoding',
      lines('HTTP/1.1 200 OK', 'transfer-encoding: \xa0chunked') + '0\r\n\r\n',
      'more',
    ],
    ['nothing else ends it', `${lines('HTTP/1.1 200 OK')}body`, 'more'],
    ['its last encoding is not chunked', `${lines('HTTP/1.1 200 OK', 'transfer-encoding: chunked, gzip')}body`, 'more'],
  ])('says that the connection ends with it when %s', (_, text, progress) => {
    expect(read(text)).toMatchObject({ status: 200, progress, closes: true });
  });

  it('keeps the beginning of the body, without the framing of its chunks', () => {
    const kept = (text: string, size: number): string => {
      const reader = new AnswerReader(LIMITS);
      for (let at = 0; at < text.length; at += size) reader.read(Buffer.from(text.slice(at, at + size), 'latin1'));
      return reader.kept.toString();
    };
    const body = 'abcdefghijklmnopqrstuvwxyz';
    for (const size of [1, 5, 200]) {
      expect(kept(lines('HTTP/1.1 500 x', 'content-length: 3') + 'abcHTTP', size)).toBe('abc');
      expect(kept(lines('HTTP/1.1 500 x', 'content-length: 26') + body, size)).toBe(body.slice(0, 20));
      expect(kept(lines('HTTP/1.1 500 x') + body, size)).toBe(body.slice(0, 20));
      expect(
        kept(lines('HTTP/1.1 500 x', 'transfer-encoding: chunked') + `3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n`, size),
      ).toBe('abcde');
    }
    const reader = new AnswerReader({ ...LIMITS, keptBytes: 0 });
    reader.read(Buffer.from(lines('HTTP/1.1 200 x', 'content-length: 3') + 'abc'));
    expect(reader.kept).toHaveLength(0);
  });

  it('says what came behind it', () => {
    expect(read(`${lines('HTTP/1.1 200 OK', 'content-length: 2')}okHTTP/1.1 500 x\r\n`).hasMore).toBe(true);
    expect(read(`${lines('HTTP/1.1 200 OK', 'transfer-encoding: chunked')}0\r\n\r\nx`).hasMore).toBe(true);
  });

  it.each([
    ['a length', lines('HTTP/1.1 200 OK', 'content-length: 16385')],
    ['its bytes', `${lines('HTTP/1.1 200 OK')}${'b'.repeat(16_385)}`],
    ['chunks of a byte', `${lines('HTTP/1.1 200 OK', 'transfer-encoding: chunked')}${'1\r\nx\r\n'.repeat(2_731)}`],
    ['trailers', `${lines('HTTP/1.1 200 OK', 'transfer-encoding: chunked')}0\r\n${'a: b\r\n'.repeat(2_731)}`],
  ])('stops at a body that is too long by %s', (_, text) => {
    for (const size of [text.length, 100])
      expect(read(text, size)).toMatchObject({ status: 200, progress: 'too-long' });
  });

  it.each([
    ['another protocol', '220 mail.example ESMTP\r\n'],
    ['another version', lines('HTTP/2.0 200 OK')],
    ['a status of two digits', lines('HTTP/1.1 20 OK')],
    ['a status below 100', lines('HTTP/1.1 099 OK')],
    ['an upgrade', lines('HTTP/1.1 101 Switching Protocols', 'upgrade: x')],
    ['too many interim answers', lines('HTTP/1.1 103 x').repeat(17)],
    ['a bare line feed', 'HTTP/1.1 200 OK\nx: y\r\n\r\n'],
    ['a bare carriage return', 'HTTP/1.1 200 OK\r\nx: y\rz: z\r\n\r\n'],
    ['a folded line', lines('HTTP/1.1 200 OK', 'x: y', ' z')],
    ['a space before the colon', lines('HTTP/1.1 200 OK', 'content-length : 0')],
    ['a line without a colon', lines('HTTP/1.1 200 OK', 'content-length')],
    ['a NUL', lines('HTTP/1.1 200 OK', 'x: \0')],
    ['two lengths', lines('HTTP/1.1 200 OK', 'content-length: 2', 'content-length: 2')],
    ['a list of lengths', lines('HTTP/1.1 200 OK', 'content-length: 2, 2')],
    ['a signed length', lines('HTTP/1.1 200 OK', 'content-length: +2')],
    ['a length behind a no-break space', lines('HTTP/1.1 200 OK', 'content-length: \xa02')],
    ['no length', lines('HTTP/1.1 200 OK', 'content-length: ')],
    ['a length beside chunks', lines('HTTP/1.1 200 OK', 'content-length: 2', 'transfer-encoding: chunked')],
    ['a long head', lines('HTTP/1.1 200 OK', `x: ${'y'.repeat(16_384)}`)],
    ['an endless head', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(16_384)}`],
    ['long heads together', lines('HTTP/1.1 103 x', `x: ${'y'.repeat(2_000)}`).repeat(9)],
    ['a chunk without a size', `${lines('HTTP/1.1 200 OK', 'transfer-encoding: chunked')}\r\n`],
    ['a signed chunk size', `${lines('HTTP/1.1 200 OK', 'transfer-encoding: chunked')}-1\r\n`],
    ['a chunk longer than its size', `${lines('HTTP/1.1 200 OK', 'transfer-encoding: chunked')}1\r\nxy\r\n`],
    ['a chunk line with a bare line feed', `${lines('HTTP/1.1 200 OK', 'transfer-encoding: chunked')}1\nx\r\n`],
    [
      'a bare carriage return in a chunk line',
      `${lines('HTTP/1.1 200 OK', 'transfer-encoding: chunked')}1;\r0\r\nx\r\n`,
    ],
    ...['no field', ' folded: x', 'a: b\rc: d', 'a: b\r', 'HTTP/1.1 500 x'].map((trailer): [string, string] => [
      `the trailer ${JSON.stringify(trailer)}`,
      `${lines('HTTP/1.1 200 OK', 'transfer-encoding: chunked')}0\r\n${trailer}\r\n\r\n`,
    ]),
    ['a long chunk line', `${lines('HTTP/1.1 200 OK', 'transfer-encoding: chunked')}1;${'x'.repeat(1_100)}`],
  ])('refuses %s', (_, text) => {
    for (const size of [text.length, 1]) expect(() => read(text, size)).toThrow(ProtocolFault);
  });
});
