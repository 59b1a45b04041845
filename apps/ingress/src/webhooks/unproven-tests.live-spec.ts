import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startWebhooks, type Answer, type Partner, type Webhooks } from './spec-webhooks.js';

let server: Server;
let relay: Webhooks;
let status = 404;
/** Tests that came and are not answered. */
const hanging: ServerResponse[] = [];
let registered = 0;

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume().on('end', () => {
      if (request.url?.startsWith('/hang') === true) hanging.push(response);
      else response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  relay = await startWebhooks({ EGRESS_ALLOW_HTTP: 'true', EGRESS_ALLOW_CIDRS: '127.0.0.0/8' });
});
afterAll(async () => {
  await relay?.stop();
  server?.close();
  server?.closeAllConnections();
});

/** Registers a webhook. @returns what tests it */
const aWebhook = async (partner: Partner, path: string, host = '127.0.0.1'): Promise<() => Promise<Answer>> => {
  const { port } = server.address() as AddressInfo;
  const endPointUrl = `http://${host}:${port}/${path}/${(registered += 1)}`;
  const body = { eventType: 'task.created', endPointUrl, apiKey: 'k' };
  const { json } = await relay.ask('POST', '/webhooks', { token: partner.token, body });
  const ordered = `/webhooks/${(json as { id: string }).id}/test`;
  return () => relay.ask('POST', ordered, { token: partner.token });
};
const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 20));
};
const count = (answers: readonly Answer[], wanted: number): number =>
  answers.filter((answer) => answer.status === wanted).length;

it('tests a new endpoint while tests of other partners hang at its origin', async () => {
  const hostile = await Promise.all(['one', 'two'].map((name) => relay.aPartner(name)));
  const testFresh = await aWebhook(await relay.aPartner('fresh'), 'fresh');
  const answers: Answer[] = [];
  const hung = hostile.flatMap((partner) =>
    Array.from({ length: 3 }, async () => {
      const testHanging = await aWebhook(partner, 'hang');
      await Promise.all(Array.from({ length: 4 }, async () => answers.push(await testHanging())));
    }),
  );
  await until(() => hanging.length >= 2);
  expect((await testFresh()).json).toMatchObject({ status: 404 });
  // Those whose turn is too far away are told to come again.
  const refused = (): Answer | undefined => answers.find((answer) => answer.status === 429);
  await until(() => refused() !== undefined);
  expect(refused()?.headers).toMatchObject({ 'retry-after': '5' });
  const end = setInterval(() => hanging.splice(0).forEach((response) => response.writeHead(404).end()), 20);
  await Promise.all(hung);
  clearInterval(end);
});

it('lets all tests go once one was answered 2xx, and each partner make sixty a minute', async () => {
  status = 204;
  const partner = await relay.aPartner('tester');
  const answers: Answer[] = [];
  for (let webhook = 0; webhook < 11; webhook += 1) {
    const test = await aWebhook(partner, 'good', 'localhost');
    answers.push(...(await Promise.all(Array.from({ length: 6 }, test))));
  }
  expect([count(answers, 200), count(answers, 429)]).toEqual([60, 6]);
  expect(answers.at(-1)?.headers).toMatchObject({ 'ratelimit-policy': '"tests-of-partner";q=60;w=60' });
  const another = await aWebhook(await relay.aPartner('another'), 'good', 'localhost');
  expect((await another()).status).toBe(200);
});
