import { randomUUID } from 'node:crypto';
import type { Client, Registration } from '../support/client.js';
import { deadLettersIn } from '../support/dead-letters.js';
import { Relay } from '../support/relay.js';
import { aJwt, secretFile } from '../support/secret-file.js';
import { until } from '../support/until.js';

let [near, far]: Relay[] = [];
let sender: Client;
beforeAll(async () => {
  [near, far] = await Promise.all([Relay.start(), Relay.start()]);
  sender = await near.source();
});
afterAll(async () => {
  await Promise.all([near?.close(), far?.close()]);
});

type Credential = Pick<Registration, 'apiKey' | 'jwt' | 'userName' | 'password'>;
const TYPES = { apiKey: 'task.created', jwt: 'recommendation.updated', basic: 'notification.completed' } as const;
const jwt = aJwt();

describe('two relays in a chain', () => {
  it.each([
    ['apiKey', ['--api-key'], ({ apiKey = '' }: Credential) => ({ apiKey })],
    ['jwt', ['--jwt-file', secretFile(jwt)], () => ({ jwt })],
    ['basic', ['--basic', 'near'], ({ userName = '', password = '' }: Credential) => ({ userName, password })],
  ] as const)('hand an envelope on with %s, byte for byte, to the far endpoint', async (kind, option, credentialOf) => {
    if (near === undefined || far === undefined) throw new Error('the relays did not start');
    const eventType = TYPES[kind];
    const issued = (await far.stack.client('source', `near-${kind}`, ...option)) as Credential;
    const [nearPartner, farPartner] = await Promise.all([near.partner(`far-${kind}`), far.partner('acme')]);
    const endPointUrl = `${far.ingress.url}/deliveries`;
    await nearPartner.register({ eventType, endPointUrl, ...credentialOf(issued) });
    await farPartner.register({ eventType, endPointUrl: far.receiver.url(`/${kind}`), apiKey: 'last' });

    const [id, entity] = [randomUUID(), randomUUID()];
    const text = `{"payload":{"id":"${entity}","userId":"${entity}","financialPlanId":"${entity}","n": 1.10 },"type":"${eventType}","id":"${id}"}`;
    expect(await sender.post(text)).toMatchObject({ status: 202 });

    const { body, headers } = await until('the far endpoint has it', () => far?.receiver.at(`/${kind}`)[0]);
    expect([body.toString(), headers['webhook-id']]).toEqual([text, id]);
    const logs = await Promise.all([near, far].map((relay) => relay.stack.topic(eventType).read()));
    expect(logs.map((log) => log.map(({ value }) => value.toString()))).toEqual([[text], [text]]);
    expect(await deadLettersIn(near.stack.shards)).toEqual([]);
  });
});
