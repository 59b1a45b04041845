import {
  deadLettersTopic,
  deliveryAttemptsTopic,
  dlqOf,
  envelopeTopics,
  noticesTopic,
  operationsTopic,
  registryTopic,
} from '@relay/events';
import kafkajs, { type AclEntry } from 'kafkajs';
import { App, type Role } from '../support/app.js';
import { anEnvelope, Client } from '../support/client.js';
import { CommandLine } from '../support/command-line.js';
import { Ear } from '../support/ear.js';
import { Receiver } from '../support/receiver.js';
import { SecuredServers } from '../support/secured-servers.js';
import { givenSettings, type Settings } from '../support/stack.js';
import { until } from '../support/until.js';

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;
const { READ, WRITE, DESCRIBE, DELETE, CREATE, DESCRIBE_CONFIGS } = AclOperationTypes;
type Right = AclEntry['operation'];

const EVENTS = envelopeTopics('');
const [REGISTRY, OPERATIONS, LETTERS, ATTEMPTS] = [
  registryTopic,
  operationsTopic,
  deadLettersTopic,
  deliveryAttemptsTopic,
].map((name) => name('')) as [string, string, string, string];
const ALL = [...EVENTS, ...EVENTS.map(dlqOf), REGISTRY, OPERATIONS, LETTERS, ATTEMPTS];

const allowed = { host: '*', permissionType: AclPermissionTypes.ALLOW } as const;
const onTopics = (user: string, topics: readonly string[], ...rights: Right[]): AclEntry[] => {
  const each = { ...allowed, principal: `User:${user}`, resourceType: AclResourceTypes.TOPIC };
  const resourcePatternType = ResourcePatternTypes.LITERAL;
  return topics.flatMap((resourceName) =>
    rights.map((operation) => Object.assign({ operation, resourceName, resourcePatternType }, each)),
  );
};
const onGroups = (user: string, resourceName: string, ...rights: Right[]): AclEntry[] => {
  const each = { ...allowed, principal: `User:${user}`, resourceType: AclResourceTypes.GROUP };
  const resourcePatternType = ResourcePatternTypes.PREFIXED;
  return rights.map((operation) => Object.assign({ operation, resourceName, resourcePatternType }, each));
};

/** The table of docs/security.md, and nothing beyond it. */
const GRANTED: AclEntry[] = [
  ...onTopics('ingress', ALL, DESCRIBE, DESCRIBE_CONFIGS),
  ...onTopics('ingress', [...EVENTS, REGISTRY, OPERATIONS, LETTERS], WRITE),
  ...onTopics('ingress', [...EVENTS, REGISTRY], READ),
  ...onGroups('ingress', 'partner-relay', READ, DELETE),
  ...onTopics('worker', ALL, READ, WRITE, DESCRIBE, DESCRIBE_CONFIGS),
  ...onGroups('worker', 'partner-relay', READ, DELETE),
  ...onTopics('operations', [...EVENTS, ATTEMPTS, OPERATIONS, REGISTRY, LETTERS], DESCRIBE),
  ...onTopics('operations', [noticesTopic(''), OPERATIONS, REGISTRY, LETTERS], WRITE),
  ...onTopics('operations', [...EVENTS, REGISTRY, OPERATIONS, ATTEMPTS], READ),
  ...onGroups('operations', 'partner-relay', READ, DELETE, DESCRIBE),
  ...onTopics('commands', ALL, READ, WRITE, DESCRIBE, DESCRIBE_CONFIGS),
  ...onGroups('commands', 'partner-relay', READ, DELETE),
  ...onTopics('topics', ALL, CREATE, DESCRIBE, DESCRIBE_CONFIGS),
  ...onTopics('acme', EVENTS.slice(0, 1), READ, DESCRIBE),
  ...onGroups('acme', 'acme.', READ),
];

let servers: SecuredServers;
let receiver: Receiver;
const apps: App<Role>[] = [];
beforeAll(async () => {
  servers = await SecuredServers.start(['ingress', 'worker', 'operations', 'commands', 'topics', 'acme']);
  await servers.admin.createAcls({ acl: GRANTED });
  receiver = await Receiver.open();
});
afterAll(async () => {
  await Promise.all(apps.map((app) => app.stop()));
  await receiver?.close();
  await servers?.end();
});

const settingsOf = (user: string): Settings => ({
  ...givenSettings(),
  PATH: process.env['PATH'] ?? '',
  ...servers.settings(user),
  RELAY_ENV: 'production',
  KAFKA_TOPIC_PARTITIONS: '2',
  KAFKA_TOPIC_REPLICATION: '1',
  RETRY_SCHEDULE: '1s',
});
const relay = <T>(user: string, ...args: string[]): Promise<T> => new CommandLine(settingsOf(user)).json<T>(args);

/** Kafka's authority by KAFKA_SSL_CA for all but operations, which trusts it as it trusts the public ones. */
function settingsOfRole(role: Role): Settings {
  const settings = settingsOf(role);
  if (role !== 'operations') return settings;
  const { KAFKA_SSL_CA_FILE: _, ...others } = settings;
  return { ...others, KAFKA_SSL: 'true' };
}

async function start<R extends Role>(role: R): Promise<App<R>> {
  const app = await App.start(role, settingsOfRole(role));
  apps.push(app);
  return app;
}

it('each role does its work over TLS with a login of its own and the rights of docs/security.md', async () => {
  await relay('topics', 'topics', 'create');
  const [ingress, , operations] = await Promise.all([start('ingress'), start('worker'), start('operations')]);
  const clientOf = async (kind: string, name: string): Promise<Client> => {
    const { clientId, clientSecret } = await relay<Record<string, string>>(
      'commands',
      'admin',
      'clients',
      'create',
      kind,
      name,
    );
    return new Client(ingress.url, clientId ?? '', clientSecret ?? '');
  };
  const [partner, source] = [await clientOf('partner', 'acme'), await clientOf('source', 'billing')];
  receiver.decide('/dead', () => ({ status: 500 }));
  await partner.register({ eventType: 'task.created', endPointUrl: receiver.url('/alive'), apiKey: 'key' });
  const dead = await partner.register({ eventType: 'task.created', endPointUrl: receiver.url('/dead'), apiKey: 'key' });
  const ear = await Ear.open(ingress.url, partner, ['task.created']);
  const envelope = anEnvelope();
  expect(await source.post(envelope)).toMatchObject({ status: 202 });
  await ear.hears(1);
  await ear.close();
  expect(await source.post('no envelope')).toMatchObject({ status: 400 });
  await until('it is delivered', () => receiver.delivered('/alive').includes(envelope.id));
  const list = async (): Promise<readonly unknown[]> =>
    (await partner.request('GET', '/deliveries?status=delivered')).json['deliveries'] ?? [];

  const { clientId, clientSecret } = await relay<Record<string, string>>(
    'commands',
    'admin',
    'clients',
    'create',
    'operator',
    'night',
    '--role',
    'admin',
  );
  const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
  const ask = async (method: string, path: string): Promise<{ status: number; body: Record<string, unknown> }> => {
    const answer = await fetch(`${operations.url}${path}`, { method, headers: { authorization } });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  const letters = async (): Promise<{ id: string }[]> =>
    (await ask('GET', '/dead-letters')).body['deadLetters'] as { id: string }[];
  await until('the other one is a dead letter', async () => (await letters()).length === 1, { seen: letters });
  receiver.decide('/dead', () => ({ status: 204 }));
  const [letter] = await letters();
  expect(await ask('POST', `/dead-letters/${letter?.id}/replay`)).toMatchObject({ status: 200 });
  await until('it is delivered when replayed', () => receiver.delivered('/dead').includes(envelope.id));
  const payload = async (): Promise<number> =>
    (await partner.request('GET', `/deliveries/${envelope.id}/payload`)).status;
  await until('it is read from the log', async () => (await list()).length === 2 && (await payload()) === 200);
  expect(await ask('GET', '/lag')).toMatchObject({ status: 200, body: { topics: expect.any(Array) } });

  expect(await partner.request('POST', `/webhooks/${dead}/replay`, {})).toMatchObject({ status: 202 });
  await until('the partner has it replayed', () => receiver.at('/dead').length === 4, {
    seen: () => receiver.at('/dead').length,
  });

  const report = await relay<{ healthy: boolean; findings: { check: string; state: string }[] }>('commands', 'doctor');
  expect(report.findings.filter(({ check, state }) => state === 'fault' || check === 'redis')).toEqual([
    expect.objectContaining({ check: 'redis', state: 'ok' }),
  ]);

  const put = async (): Promise<{ status: number; commands?: readonly string[] }> => {
    const headers = { authorization, 'content-type': 'application/json' };
    const answer = await fetch(`${operations.url}/event-types/order.paid`, { method: 'PUT', headers, body: '{}' });
    return { ...((await answer.json()) as object), status: answer.status };
  };
  const refused = await put();
  const made = ['order.paid', dlqOf('order.paid')];
  expect(refused.status).toBe(409);
  expect(refused.commands?.map((command) => /^kafka-topics\.sh .*--topic (\S+)/.exec(command)?.[1])).toEqual(made);
  await servers.admin.createTopics({ topics: made.map((topic) => ({ topic, numPartitions: 2 })) });
  const rights = [
    ...onTopics('operations', made, DESCRIBE, READ),
    ...onTopics('ingress', made, DESCRIBE, DESCRIBE_CONFIGS, READ, WRITE),
    ...onTopics('worker', made, DESCRIBE, DESCRIBE_CONFIGS, READ, WRITE),
  ];
  await servers.admin.createAcls({ acl: rights });
  expect(await put()).toMatchObject({ status: 200 });

  // Commands that ask the operations app need no store.
  const cli = new CommandLine({
    OPERATIONS_URL: operations.url,
    OPERATOR_CLIENT_ID: clientId ?? '',
    OPERATOR_CLIENT_SECRET: clientSecret ?? '',
  });
  expect(await cli.json(['deliveries', 'get', envelope.id])).toMatchObject({ id: envelope.id });
  const replay = await cli.json(['replay', '--type', 'task.created']);
  expect(replay).toMatchObject({ matched: 2, done: 2 });
  expect(apps.flatMap(({ log }) => log.filter((line) => /authori[sz]|NOPERM/i.test(line)))).toEqual([]);
});

it('a partner reads what it was granted and nothing else', async () => {
  const kafka = servers.kafka('acme');
  const read = async (topic: string, groupId: string): Promise<string> => {
    const consumer = kafka.consumer({ groupId, retry: { retries: 0 } });
    await consumer.connect();
    try {
      await consumer.subscribe({ topic, fromBeginning: true });
      return await new Promise<string>((resolve, reject) => {
        consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
        consumer.run({ eachMessage: ({ message }) => Promise.resolve(resolve(String(message.value))) }).catch(reject);
      });
    } finally {
      await consumer.disconnect();
    }
  };
  expect(await read('task.created', 'acme.billing')).toContain('"type":"task.created"');
  for (const topic of [REGISTRY, LETTERS, 'task.updated'])
    await expect(read(topic, 'acme.billing')).rejects.toThrow(/authorized/i);
  // kafkajs has other words for it where it looks for the group.
  await expect(read('task.created', 'partner-relay')).rejects.toThrow(/coordinator|authorized/i);
});

// What stands for the ports and files of these servers is put in where they are known.
it.each([
  ['a wrong password at Kafka', { KAFKA_SASL_PASSWORD: 'wrong' }, /kafka.*invalid credentials/],
  ['an authority of Kafka that it does not trust', { KAFKA_SSL_CA_FILE: 'STRANGER' }, /kafka.*certificate/],
  ['a wrong password at Redis', { REDIS_URL: 'rediss://relay:wrong@127.0.0.1:REDIS/0' }, /redis.*WRONGPASS/],
  ['an authority of Redis that it does not trust', { NODE_EXTRA_CA_CERTS: 'STRANGER' }, /redis.*certificate/],
])('a worker says what is wrong of %s, is not ready, and keeps the password to itself', async (_, wrong, said) => {
  const right = settingsOf('worker');
  const place = (value: string): string =>
    value.replace('STRANGER', servers.stranger).replace('REDIS', new URL(right['REDIS_URL'] ?? '').port);
  const placed = Object.entries(wrong).map(([name, value]) => [name, place(value)]);
  const app = await App.launch('worker', { ...right, ...Object.fromEntries(placed) });
  try {
    await until('it says so', () => app.log.some((line) => said.test(line)), { seen: () => app.log });
    expect((await app.health())?.status).not.toBe('ok');
    expect(app.log.join('\n')).not.toMatch(/of-worker|of-redis|:wrong@/);
  } finally {
    await app.kill();
  }
});
