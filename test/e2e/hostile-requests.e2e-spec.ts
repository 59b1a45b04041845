import { connect } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { startRedisServer, type RedisServer } from '@relay/testing';
import { createIngressApp } from './ingress-app.js';
import { aConfig } from './spec-app.js';
import { IngressModule } from '../ingress.module.js';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';

// The seed makes a run repeatable; more requests take more time and nothing else.
const REQUESTS = 2_000;
const SEED = 7;

let redis: RedisServer;
let app: NestFastifyApplication;
let port: number;
beforeAll(async () => {
  redis = await startRedisServer();
  const config = aConfig(redis.url());
  app = await createIngressApp(IngressModule.register(config), config);
  await app.listen(0, '127.0.0.1');
  port = Number(new URL(await app.getUrl()).port);
});
afterAll(async () => {
  await app?.close();
  await redis?.stop();
});

/** Numbers from 0 to below `limit`, the same for the same seed (mulberry32). */
function chance(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  };
}

const body =
  '{"eventType":"task.created","endPointUrl":"https://a.example/","apiKey":"k","n":[1.5e3,null,{"a":"\\u00e9"}]}';
const heads = [
  'POST /auth/token HTTP/1.1\r\nAuthorization: Basic YTpi\r\nContent-Type: application/x-www-form-urlencoded',
  'POST /auth/0f0e0d0c-0b0a-4908-8706-050403020100/session HTTP/1.1\r\nAuthorization: Bearer a.b.c\r\nContent-Type: application/json',
  'GET /webhooks?limit=5&cursor=1&eventType=task.created HTTP/1.1\r\nContent-Type: application/json',
  'POST /webhooks HTTP/1.1\r\nContent-Type: application/json\r\nExpect: 100-continue',
  'PATCH /webhooks/0f0e0d0c-0b0a-4908-8706-050403020100 HTTP/1.1\r\nIf-Match: "1"\r\nContent-Type: application/json',
  'POST /deliveries HTTP/1.1\r\nX-API-Key: k\r\nce-id: 1\r\nContent-Type: application/cloudevents+json',
  'POST /deliveries/batch HTTP/1.1\r\nAuthorization: Basic YTpi\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked',
  'GET /schemas/Envelope.json HTTP/1.1\r\nX-Request-Id: 7',
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

function mutated(random: (limit: number) => number): Buffer {
  const length = random(4) === 0 ? random(5_000) : body.length;
  const text = `${heads[random(heads.length)] ?? ''}\r\nHost: relay.example\r\nConnection: close\r\nContent-Length: ${length}\r\n\r\n${body}`;
  let bytes = Buffer.from(text, 'latin1');
  for (let changes = 1 + random(6); changes > 0; changes -= 1) {
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
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
/** Bytes that are still needed, within the heap and beside it. */
function heapInUse(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** What the server answers until it ends the connection, or we do because it waits for more. */
const answerTo = (request: Buffer): Promise<string> =>
  new Promise((resolve) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.end(request));
    socket.setEncoding('latin1').setTimeout(5_000, () => socket.destroy());
    socket.on('data', (chunk: string) => (answer += chunk));
    // A reset is an answer too: the bytes were no request.
    socket.on('error', () => undefined).on('close', () => resolve(answer));
  });

it(`answers ${REQUESTS} mutated requests without a fault of its own, and the next good one as ever`, async () => {
  const random = chance(SEED);
  const faults: string[] = [];
  const statuses = new Map<string, number>();
  let before = 0;
  for (let sent = 0; sent < REQUESTS; sent += 20) {
    if (sent === REQUESTS / 10) before = heapInUse(); // what is made once is there by now
    const requests = Array.from({ length: 20 }, () => mutated(random));
    const answers = await Promise.all(requests.map(answerTo));
    for (const [index, answer] of answers.entries()) {
      const status = /^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 'none';
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status.startsWith('5') || /node_modules|at \w+ \(|Fastify|Nest/.test(answer))
        faults.push(`${JSON.stringify(requests[index]?.toString('latin1'))}\n${answer}`);
    }
  }
  const grownMiB = (heapInUse() - before) / 2 ** 20;
  expect(faults).toEqual([]);
  // However many they are.
  expect(grownMiB).toBeLessThan(5);
  expect(statuses.size).toBeGreaterThan(4);
  const good = await answerTo(Buffer.from('GET /openapi.json HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'));
  expect(good).toMatch(/^HTTP\/1\.1 200 /);
}, 600_000);
