import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { App } from '../support/app.js';
import { Client } from '../support/client.js';
import { collectGarbage } from '../support/collect-garbage.js';
import { answerTo, mutations } from '../support/mutated-requests.js';
import { Stack } from '../support/stack.js';

jest.setTimeout(3_600_000);

// The seed makes a run repeatable; more requests take more time and nothing else.
const REQUESTS = Number(process.env['HOSTILE_REQUESTS'] ?? '3000');
const SEED = Number(process.env['HOSTILE_SEED'] ?? '7');
const MANY = '1000000000';
const AT_ONCE = 50;
/** After which an answer is not waited for any more: of some the server rightly waits for the rest. */
const SILENCE_MS = 1_000;

let stack: Stack;
let ingress: App;
beforeAll(async () => {
  stack = await Stack.open({ RATE_LIMIT: MANY, SESSION_RATE_LIMIT: MANY, TOKEN_RATE_LIMIT: MANY });
  ingress = await App.start('ingress', stack.env, { nodeOptions: ['--inspect=127.0.0.1:0'] });
});
afterAll(async () => {
  await ingress?.stop();
  await stack?.close();
});

interface Issued {
  readonly clientId: string;
  readonly clientSecret: string;
}
const issued = (...args: string[]): Promise<Issued> => stack.relay(...args) as Promise<Issued>;
const tokenOf = ({ clientId, clientSecret }: Issued): Promise<string> =>
  new Client(ingress.url, clientId, clientSecret).token();

/** Resident memory after garbage was collected, in MiB. */
async function keptMiB(): Promise<number> {
  await collectGarbage(ingress);
  await setTimeout(500); // freed pages go back to the system beside the program
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${ingress.pid}/status`, 'utf8'))?.[1]) / 1_024;
}

it(`the ingress answers ${REQUESTS} mutated requests without a fault of its own, and the next good one as ever`, async () => {
  const [partner, source] = [
    await issued('admin', 'clients', 'create', 'partner', 'acme'),
    await issued('admin', 'clients', 'create', 'source', 'billing'),
  ];
  const next = mutations(
    {
      basic: Buffer.from(`${partner.clientId}:${partner.clientSecret}`).toString('base64'),
      partner: await tokenOf(partner),
      source: await tokenOf(source),
    },
    SEED,
  );
  const { pid } = ingress;
  const faults: string[] = [];
  const statuses: Record<string, number> = {};
  let [before, sent] = [0, 0];
  const lane = async (upTo: number): Promise<void> => {
    while (sent < upTo) {
      sent += 1;
      const request = next();
      const answer = await answerTo(ingress.port, request, SILENCE_MS);
      const status = /^(?:HTTP\/1\.1 100 Continue\r\n\r\n)?HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 'none';
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (status.startsWith('5') || /node_modules|at \w+ \(|Fastify|Nest/.test(answer))
        faults.push(`${JSON.stringify(request.toString('latin1'))}\n${answer}`);
    }
  };
  // By the first there is what is made once, and the heap has grown to what such work needs.
  for (const upTo of [Math.min(REQUESTS / 2, 5_000), REQUESTS]) {
    await Promise.all(Array.from({ length: AT_ONCE }, () => lane(upTo)));
    before ||= await keptMiB();
  }
  const grown = (await keptMiB()) - before;
  process.stdout.write(
    `ingress: ${before.toFixed(0)} MiB, ${grown.toFixed(1)} MiB more in the end; answers ${JSON.stringify(statuses)}\n`,
  );
  expect(faults).toEqual([]);
  expect([ingress.isRunning, ingress.pid]).toEqual([true, pid]);
  expect(grown).toBeLessThan(20); // however many they are
  // Some got through, some were refused by each layer, and nearly all were answered.
  expect(Object.keys(statuses)).toEqual(expect.arrayContaining(['200', '202', '400', '401', '404', '415']));
  expect((statuses['none'] ?? 0) / REQUESTS).toBeLessThan(0.25);
  const good = await answerTo(
    ingress.port,
    Buffer.from('GET /openapi.json HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'),
    10_000,
  );
  expect(good).toMatch(/^HTTP\/1\.1 200 /);
});
