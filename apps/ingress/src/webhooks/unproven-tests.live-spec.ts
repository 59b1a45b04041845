import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startWebhooks, type Answer, type Partner, type Webhooks } from './spec-webhooks.js';

let server: Server;
let relay: Webhooks;
let status = 404;
let running = 0;
let mostAtOnce = 0;
let came = 0;
let registered = 0;

beforeAll(async () => {
  server = createServer((request, response) => {
    came += 1;
    mostAtOnce = Math.max(mostAtOnce, (running += 1));
    request.resume().on('end', () => {
      setTimeout(() => {
        running -= 1;
        response.writeHead(status).end();
      }, 20);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  relay = await startWebhooks({ EGRESS_ALLOW_HTTP: 'true', EGRESS_ALLOW_CIDRS: '127.0.0.0/8' });
});
afterAll(async () => {
  await relay?.stop();
  server?.close();
});

const test = async (partner: Partner, times: number, host = '127.0.0.1'): Promise<Answer[]> => {
  const { port } = server.address() as AddressInfo;
  const endPointUrl = `http://${host}:${port}/${(registered += 1)}`;
  const body = { eventType: 'task.created', endPointUrl, apiKey: 'k' };
  const { json } = await relay.ask('POST', '/webhooks', { token: partner.token, body });
  const path = `/webhooks/${(json as { id: string }).id}/test`;
  return Promise.all(Array.from({ length: times }, () => relay.ask('POST', path, { token: partner.token })));
};
const count = (answers: readonly Answer[], wanted: number): number =>
  answers.filter((answer) => answer.status === wanted).length;

it('tests an origin that has never answered 2xx at most twice at once and thirty times a minute, over all partners', async () => {
  const partners = await Promise.all(['one', 'two', 'three'].map((name) => relay.aPartner(name)));
  const answers = (await Promise.all(partners.flatMap((partner) => [test(partner, 6), test(partner, 6)]))).flat();
  expect([count(answers, 200), count(answers, 429)]).toEqual([30, 6]);
  expect([mostAtOnce, came]).toEqual([2, 30]);
  expect(answers.find((answer) => answer.status === 429)?.headers).toMatchObject({
    'ratelimit-policy': '"tests-of-unproven";q=30;w=60',
    'retry-after': expect.any(String),
  });
});

it('lets all tests go once one was answered 2xx, and each partner make sixty a minute', async () => {
  status = 204;
  const partner = await relay.aPartner('tester');
  const answers: Answer[] = [];
  for (let webhook = 0; webhook < 11; webhook += 1) answers.push(...(await test(partner, 6, 'localhost')));
  expect([count(answers, 200), count(answers, 429)]).toEqual([60, 6]);
  expect(mostAtOnce).toBeGreaterThan(2);
  expect(answers.at(-1)?.headers).toMatchObject({ 'ratelimit-policy': '"tests-of-partner";q=60;w=60' });
  const another = await relay.aPartner('another');
  expect(count(await test(another, 1, 'localhost'), 200)).toBe(1);
});
