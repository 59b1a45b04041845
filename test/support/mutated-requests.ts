import { connect } from 'node:net';

/** Numbers from 0 to below `limit`, the same for the same seed (mulberry32). */
export function chance(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  };
}

/** What sending well needs: a mutated request that keeps them gets past the guards. */
export interface Credentials {
  readonly basic: string;
  readonly partner: string;
  readonly source: string;
}

const UUID = '0f0e0d0c-0b0a-4908-8706-050403020100';
const json = 'Content-Type: application/json';
const registration = '{"eventType":"task.created","endPointUrl":"https://a.example/","apiKey":"k"}';
const envelope = `{"id":"${UUID}","type":"plan.updated","payload":{"n":[1.5e3,null,{"a":"\\u00e9"}]}}`;

/** Well-formed requests of every kind: head and body. */
const goodRequests = ({ basic, partner, source }: Credentials): readonly [string, string][] => [
  [
    `POST /auth/token HTTP/1.1\r\nAuthorization: Basic ${basic}\r\nContent-Type: application/x-www-form-urlencoded`,
    'grant_type=client_credentials&scope=webhooks',
  ],
  [`POST /auth/${UUID}/session HTTP/1.1\r\nAuthorization: Bearer ${partner}\r\n${json}`, '{}'],
  [
    `GET /webhooks?limit=5&cursor=1&eventType=task.created HTTP/1.1\r\nAuthorization: Bearer ${partner}\r\n${json}`,
    '{"apiKey":"k"}',
  ],
  [`POST /webhooks HTTP/1.1\r\nAuthorization: Bearer ${partner}\r\n${json}\r\nExpect: 100-continue`, registration],
  [
    `PATCH /webhooks/${UUID} HTTP/1.1\r\nAuthorization: Bearer ${partner}\r\nIf-Match: "1"\r\n${json}`,
    '{"endPointName":"mine"}',
  ],
  [`GET /webhooks/${UUID}/deliveries?status=dead&limit=9 HTTP/1.1\r\nAuthorization: Bearer ${partner}\r\n${json}`, ''],
  [
    `POST /webhooks/${UUID}/replay HTTP/1.1\r\nAuthorization: Bearer ${partner}\r\n${json}`,
    '{"since":"2026-11-01T00:00:00Z","dryRun":true}',
  ],
  [`POST /deliveries HTTP/1.1\r\nAuthorization: Bearer ${source}\r\n${json}`, envelope],
  [
    `POST /deliveries HTTP/1.1\r\nAuthorization: Bearer ${source}\r\nce-id: ${UUID}\r\nce-type: plan.updated\r\nce-source: /a\r\nce-specversion: 1.0\r\n${json}`,
    '{"n":1}',
  ],
  [
    `POST /deliveries/batch HTTP/1.1\r\nAuthorization: Bearer ${source}\r\nContent-Type: application/x-ndjson`,
    `${envelope}\n${envelope}\n`,
  ],
  [
    `POST /deliveries/batch HTTP/1.1\r\nAuthorization: Bearer ${source}\r\n${json}\r\nTransfer-Encoding: chunked`,
    `2\r\n[]\r\n0\r\n\r\n`,
  ],
  ['GET /schemas/Envelope.json HTTP/1.1\r\nX-Request-Id: 7', ''],
];

const bits = [
  '\r\n',
  '\0',
  '\xff',
  '%',
  '%00',
  '%zz',
  '../',
  ' ',
  ':',
  '{',
  '"',
  '\\ud800',
  '__proto__',
  '9'.repeat(400),
  ';',
  ',',
  '\t',
  '[[',
];

/** Makes requests that were well-formed before up to six changes, one in ten without any; the same for the same seed. */
export function mutations(credentials: Credentials, seed: number): () => Buffer {
  const random = chance(seed);
  const good = goodRequests(credentials);
  return () => {
    const [head, body] = good[random(good.length)] ?? ['', ''];
    const length = random(8) === 0 ? random(5_000) : body.length;
    const framing = head.includes('chunked') ? '' : `Content-Length: ${length}\r\n`;
    let bytes = Buffer.from(`${head}\r\nHost: relay.example\r\nConnection: close\r\n${framing}\r\n${body}`, 'latin1');
    for (let changes = random(10) === 0 ? 0 : 1 + random(6); changes > 0; changes -= 1) {
      const at = random(bytes.length + 1);
      const end = Math.min(bytes.length, at + random(12));
      const put = Buffer.from(bits[random(bits.length)] ?? '', 'latin1');
      bytes =
        [
          () => Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at)]),
          () => Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)]),
          () => Buffer.concat([bytes.subarray(0, at), bytes.subarray(at, end), bytes.subarray(at)]),
          () => Buffer.concat([bytes.subarray(0, at), Buffer.from([random(256)]), bytes.subarray(at + 1)]),
        ][random(4)]?.() ?? bytes;
    }
    return bytes;
  };
}

/**
 * What the server answers to these bytes until it ends the connection, or until nothing has come for so long: it waits
 * for more, or has answered and would take another request. Our own side stays open meanwhile, since Node answers
 * nothing to a client that has ended its side.
 */
export const answerTo = (port: number, request: Buffer, silenceMs: number): Promise<string> =>
  new Promise((resolve) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    socket.setEncoding('latin1').setTimeout(silenceMs, () => socket.destroy());
    socket.on('data', (chunk: string) => (answer += chunk));
    // A reset is an answer too: the bytes were no request.
    socket.on('error', () => undefined).on('close', () => resolve(answer));
  });
