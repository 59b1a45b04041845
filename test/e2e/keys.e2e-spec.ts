import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Webhook } from 'standardwebhooks';
import { App, mainOf } from '../support/app.js';
import { anEnvelope, call, Client } from '../support/client.js';
import { CommandLine } from '../support/command-line.js';
import { Relay } from '../support/relay.js';
import { until } from '../support/until.js';

const aKey = (kid: string): string => `${kid}:${randomBytes(32).toString('base64')}`;
const [k1, k2] = [aKey('k1'), aKey('k2')];
const both = { ENCRYPTION_KEYS: `${k2},${k1}` };
const onlyNew = { ENCRYPTION_KEYS: k2 };
/** Enough that a rotation can be killed in its middle. */
const OTHERS = 300;

/** Registered for one type each, with all kinds of credentials, and what an endpoint must be shown. */
const kinds = [
  { eventType: 'task.created', credential: { apiKey: 'key-1' }, header: 'x-api-key', shown: 'key-1' },
  { eventType: 'plan.created', credential: { jwt: 'a.b.c' }, header: 'authorization', shown: 'Bearer a.b.c' },
  {
    eventType: 'plan.completed',
    credential: { userName: 'user', password: 'pass' },
    header: 'authorization',
    shown: `Basic ${Buffer.from('user:pass').toString('base64')}`,
  },
] as const;

interface Report {
  readonly key: string;
  readonly reencrypted: number;
  readonly skipped: number;
  readonly unreadable: readonly string[];
  readonly olderKeys: readonly { key: string; webhooks: string[]; clients: string[]; isNeeded: boolean }[];
}

type Issued = Readonly<Record<'clientId' | 'clientSecret' | 'apiKey', string>>;

let relay: Relay;
let partner: Client;
let source: Client;
let cli: CommandLine;
let apiKey: string;
let keyedId: string;
const secrets = new Map<string, string>();
const others: string[] = [];

beforeAll(async () => {
  relay = await Relay.start({ ENCRYPTION_KEYS: k1, RETRY_SCHEDULE: '1s,1s,1s', WEBHOOKS_PER_ORIGIN: '400' });
  cli = new CommandLine(relay.stack.env);
  [partner, source] = [await relay.partner(), await relay.source()];
  await source.token();
  const keyed = await cli.json<Issued>(['admin', 'clients', 'create', 'source', 'keyed', '--api-key']);
  [keyedId, apiKey] = [keyed.clientId, keyed.apiKey];
  for (const { eventType, credential } of kinds) {
    const endPointUrl = relay.receiver.url(`/${eventType}`);
    const id = await partner.register({ eventType, endPointUrl, ...credential });
    secrets.set(eventType, String((await partner.request('GET', `/webhooks/${id}/secret`)).json['secret']));
  }
  for (let n = 0; n < OTHERS; n += 20) {
    const urls = Array.from({ length: 20 }, (_, m) => relay.receiver.url(`/other/${n + m}`));
    const made = urls.map((endPointUrl) =>
      partner.register({ eventType: 'message.created', endPointUrl, apiKey: endPointUrl }),
    );
    others.push(...(await Promise.all(made)));
  }
});
afterAll(() => relay.close());

const restart = async (env: Record<string, string>): Promise<void> => {
  for (const app of [relay.worker, relay.ingress]) {
    await app.stop();
    app.start({ env });
    await app.ready();
  }
};
const stored = async (): Promise<string[]> => (await relay.stack.redis.hvals('{relay:0}:webhooks:sealed')).toSorted();
const sealedUnder = async (kid: string): Promise<number> =>
  (await stored()).filter((json) => json.includes(`v1.${kid}.`)).length;

/** Posts an envelope of each type; resolves when each arrived, signed and with its credential. */
async function deliversToAll(): Promise<void> {
  await Promise.all(
    kinds.map(async ({ eventType, header, shown }) => {
      const envelope = anEnvelope({ type: eventType });
      expect((await source.post(envelope)).status).toBe(202);
      const arrived = await until(
        `it arrives at ${eventType}`,
        () => relay.receiver.at(`/${eventType}`).find(({ headers }) => headers['webhook-id'] === envelope.id),
        { seen: () => relay.worker.log.slice(-5) },
      );
      expect(arrived.headers[header]).toBe(shown);
      new Webhook(secrets.get(eventType) ?? '').verify(arrived.body, arrived.headers as Record<string, string>);
    }),
  );
}

it('relay keys rotate seals nothing with a key that no process has', async () => {
  const before = await stored();
  for (const [keys, why] of [
    [aKey('k9'), 'lacks k1'],
    [both.ENCRYPTION_KEYS, 'begins with k2'],
  ] as const) {
    const refused = await cli.run(['keys', 'rotate'], { ENCRYPTION_KEYS: keys });
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining(why) });
  }
  expect(await stored()).toEqual(before);
});

it('relay keys rotate re-encrypts while envelopes are delivered and webhooks change, is killed, and goes on', async () => {
  await restart({ ENCRYPTION_KEYS: `${k1},${k2}` });
  await restart(both);
  const killed = spawn(process.execPath, [mainOf('cli'), 'keys', 'rotate'], {
    env: { ...relay.stack.env, ...both },
    stdio: 'ignore',
  });
  const gone = once(killed, 'exit');
  await until('some are under the new key', async () => (await sealedUnder('k2')) > 0);
  killed.kill('SIGKILL');
  await gone;
  const done = await sealedUnder('k2');
  expect(done).toBeLessThan(OTHERS);
  process.stdout.write(`killed after ${done} of ${OTHERS + kinds.length} webhooks\n`);

  const rotation = cli.run(['keys', 'rotate', '--json'], both);
  const patched = others.slice(-20);
  const changes = patched.map((id) => partner.request('PATCH', `/webhooks/${id}`, { endPointName: 'changed' }));
  await deliversToAll();
  expect((await Promise.all(changes)).map(({ status }) => status)).toEqual(patched.map(() => 200));
  const { code, out } = await rotation;
  const report = JSON.parse(out) as Report;
  expect([code, report.key, report.unreadable]).toEqual([0, 'k2', []]);
  expect(report.reencrypted + report.skipped).toBe(OTHERS + kinds.length);
  expect(report.skipped).toBeGreaterThanOrEqual(done);
  expect([await sealedUnder('k1'), await sealedUnder('k2')]).toEqual([0, OTHERS + kinds.length]);
  for (const id of patched)
    expect((await partner.request('GET', `/webhooks/${id}`)).json['endPointName']).toBe('changed');

  const again = await cli.run(['keys', 'rotate'], both);
  expect(again.out).toMatch(/^0 webhooks re-encrypted under k2, 303 skipped/);
  expect(again.err).toMatch(/^re-encrypting webhooks: 303 records/);
});

it('relay keys rotate tells that the old key is needed until the clients have used their secrets', async () => {
  const needs = async (): Promise<string[]> =>
    (await cli.json<Report>(['keys', 'rotate'], both)).olderKeys.flatMap(({ key, clients }) => [key].concat(clients));
  expect((await needs()).toSorted()).toEqual(['k1', keyedId, partner.clientId, source.clientId].toSorted());
  const told = await cli.run(['doctor'], both);
  expect(told.out).toMatch(/warning +older keys +k1 is still needed for secrets of 3 clients, such as .*\n +fix: /);
  for (const client of [partner, source]) {
    client.forgetToken();
    await client.token();
  }
  const posted = await call('POST', `${relay.ingress.url}/deliveries`, {
    headers: { 'x-api-key': apiKey },
    body: anEnvelope({ type: 'message.created' }),
  });
  expect(posted.status).toBe(202);
  await until('nobody needs it', async () => (await needs()).length === 1);
  const free = await cli.run(['doctor'], both);
  expect(free.out).toMatch(/ok +older keys +k1 is no longer needed: remove it from ENCRYPTION_KEYS/);
});

it('nothing is left for the old key to do: an emptied Redis is recovered with the new one alone', async () => {
  expect(await cli.json(['keys', 'forget', 'k1'], both)).toEqual({ key: 'k1', forgotten: true });
  await Promise.all([relay.ingress.stop(), relay.worker.stop()]);
  await relay.stack.redisLost();
  relay.ingress.start({ env: onlyNew });
  relay.worker.start({ env: onlyNew });
  await relay.ingress.ready();
  await cli.json(['recover'], onlyNew);
  await relay.worker.ready();
  for (const client of [partner, source]) {
    client.forgetToken();
    await client.token();
  }
  await deliversToAll();
  const keyed = await call('POST', `${relay.ingress.url}/deliveries`, {
    headers: { 'x-api-key': apiKey },
    body: anEnvelope({ type: 'message.created' }),
  });
  expect(keyed.status).toBe(202);
  const { findings } = await cli.json<{ findings: { state: string }[] }>(['doctor'], onlyNew);
  expect(findings.filter(({ state }) => state === 'fault')).toEqual([]);
});

it('the relay is repaired after the loss of its only key, as docs/security.md says: clients, then secrets, then credentials', async () => {
  const lost = { ENCRYPTION_KEYS: aKey('k3') };
  const renewed = async (group: string, { clientId }: Client): Promise<Client> => {
    const { clientSecret } = await cli.json<Issued>([group, 'rotate', clientId], asks);
    return new Client(relay.ingress.url, clientId, clientSecret);
  };
  const refused = await cli.run(['keys', 'forget', 'k2'], lost);
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('k2 is still needed for 303 webhooks')]);
  await cli.json(['keys', 'forget', 'k2', '--lost'], lost);
  const first = ['admin', 'clients', 'create', 'operator', 'repairs', '--role', 'admin'];
  const { clientId, clientSecret } = await cli.json<Issued>(first, lost);
  const operations = await App.start('operations', { ...relay.stack.env, ...lost });
  const asks = { OPERATIONS_URL: operations.url, OPERATOR_CLIENT_ID: clientId, OPERATOR_CLIENT_SECRET: clientSecret };
  [partner, source] = [await renewed('partners', partner), await renewed('sources', source)];
  await operations.stop();
  await restart(lost);
  const listed = (await partner.request('GET', '/webhooks')).json;
  for (const { eventType, credential } of kinds) {
    const id = String(listed.find((webhook) => String(webhook['eventType']) === eventType)?.['id']);
    const rotated = await partner.request('POST', `/webhooks/${id}/secret/rotate`);
    secrets.set(eventType, String(rotated.json['secret']));
    expect((await partner.request('PATCH', `/webhooks/${id}`, credential)).status).toBe(200);
    expect((await partner.request('GET', `/webhooks/${id}/secret`)).json).toEqual(rotated.json);
  }
  await deliversToAll();
  const { code, out } = await cli.run(['keys', 'rotate', '--json'], lost);
  expect([code, (JSON.parse(out) as Report).unreadable.toSorted()]).toEqual([1, others.toSorted()]);
  const text = await cli.run(['keys', 'rotate'], lost);
  expect(text).toMatchObject({ code: 1, out: expect.stringContaining(`stored values of webhook ${others[0]};`) });
});
