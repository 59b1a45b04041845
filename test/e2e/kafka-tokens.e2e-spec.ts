import kafkajs, { type AclEntry } from 'kafkajs';
import { App } from '../support/app.js';
import { anEnvelope, Client } from '../support/client.js';
import { CommandLine } from '../support/command-line.js';
import { Receiver } from '../support/receiver.js';
import { SecuredServers } from '../support/secured-servers.js';
import { givenSettings, type Settings } from '../support/stack.js';
import { until } from '../support/until.js';

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;

const everything = [AclResourceTypes.TOPIC, AclResourceTypes.GROUP].map((resourceType): AclEntry => ({
  principal: 'User:relay',
  host: '*',
  permissionType: AclPermissionTypes.ALLOW,
  operation: AclOperationTypes.ALL,
  resourceType,
  resourceName: '*',
  resourcePatternType: ResourcePatternTypes.LITERAL,
}));

let servers: SecuredServers;
let receiver: Receiver;
beforeAll(async () => {
  servers = await SecuredServers.start(['relay']);
  await servers.admin.createAcls({ acl: everything });
  receiver = await Receiver.open();
});
afterAll(async () => {
  await receiver?.close();
  await servers?.end();
});

const settings = (): Settings => ({
  ...givenSettings(),
  PATH: process.env['PATH'] ?? '',
  ...servers.settingsByToken('relay'),
  KAFKA_TOPIC_PARTITIONS: '2',
  KAFKA_TOPIC_REPLICATION: '1',
});

it('ingress and worker log in by tokens, and by new ones before these end', async () => {
  const line = new CommandLine(settings());
  await line.json(['topics', 'create']);
  const apps = await Promise.all(['ingress' as const, 'worker' as const].map((role) => App.start(role, settings())));
  try {
    const url = apps[0]?.url ?? '';
    const clientOf = async (kind: string): Promise<Client> => {
      const { clientId = '', clientSecret = '' } = await line.json<Record<string, string>>([
        'admin',
        'clients',
        'create',
        kind,
        'acme',
      ]);
      return new Client(url, clientId, clientSecret);
    };
    const [partner, source] = [await clientOf('partner'), await clientOf('source')];
    await partner.register({ eventType: 'task.created', endPointUrl: receiver.url('/hook'), apiKey: 'key' });
    // Two processes, each with a token of 24 s that it renews 14 s later: the first ones have ended when each had two more.
    const enough = servers.tokens.given + 4;
    const sent = new Set<string>();
    await until(
      'tokens were renewed',
      async () => {
        const envelope = anEnvelope();
        const isTaken = async (): Promise<boolean> => (await source.post(envelope)).status === 202;
        await until('it is taken', isTaken);
        sent.add(envelope.id);
        return servers.tokens.given >= enough;
      },
      { withinMs: 240_000 },
    );
    await until('all are delivered', () => {
      const delivered = new Set(receiver.delivered('/hook'));
      return [...sent].every((id) => delivered.has(id));
    });
  } finally {
    await Promise.all(apps.map((app) => app.stop()));
  }
});

it('a process says which setting gives it no token, and keeps the secret to itself', async () => {
  const app = await App.launch('worker', { ...settings(), KAFKA_SASL_PASSWORD: 'wrong-4711' });
  try {
    const said = /no token by KAFKA_SASL_TOKEN_URL: invalid_client/;
    await until('it says so', () => app.log.some((text) => said.test(text)), { seen: () => app.log });
    expect((await app.health())?.status).not.toBe('ok');
    expect(app.log.join('\n')).not.toContain('wrong-4711');
  } finally {
    await app.kill();
  }
});
