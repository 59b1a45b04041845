import { randomUUID } from 'node:crypto';
import { ShardHistory } from '@relay/history';
import { onlyShard, oneShard } from '@relay/redis';
import { Replays } from '@relay/replays';
import { HistoryModule } from './history/history.module.js';
import { PortalModule } from './portal/portal.module.js';
import { ReplaysModule } from './replays/replays.module.js';
import { SessionsModule } from './sessions/sessions.module.js';
import { routesOf } from '@relay/openapi';
import { controllersOf, FEATURES } from './ingress.module.js';
import { startWebhooks, type Answer, type Partner, type Webhooks } from './webhooks/spec-webhooks.js';

let relay: Webhooks;
let owner: Partner;
let other: Partner;
let webhook: string;
let session: string;
let replay: string;
const envelope = randomUUID();
beforeAll(async () => {
  relay = await startWebhooks({}, [SessionsModule, ReplaysModule, HistoryModule, PortalModule]);
  [owner, other] = [await relay.aPartner('owner'), await relay.aPartner('other')];
  const { token } = owner;
  webhook = idIn(await relay.ask('POST', '/webhooks', { token, body: registration }), 'id');
  session = idIn(await relay.ask('POST', `/auth/${randomUUID()}/session`, { token }), 'sessionId');
  replay = randomUUID();
  const { eventType } = registration;
  const of = { webhookId: webhook, partnerId: owner.clientId, eventType, status: 'all' as const };
  const ordered = { id: replay, ...of, since: undefined, until: undefined, orderedBy: 'partner' as const };
  const ranges = [{ topic: eventType, partition: 0, from: 0, end: 9 }];
  await new Replays(relay.redis, oneShard(relay.redis)).create(ordered, ranges, Date.now());
  const attempts = [{ at: Date.now(), durationMs: 5, status: 204 }];
  const line = { webhookId: webhook, envelopeId: envelope, acceptedAt: Date.now(), series: 0, attempts };
  await new ShardHistory(onlyShard(relay.redis), 60_000).add([line]);
});
afterAll(() => relay?.stop());

const registration = { eventType: 'task.created', endPointUrl: 'https://hooks.example.com/a', apiKey: 'key-1' };
const idIn = ({ json }: Answer, member: string): string => String(Reflect.get(json as object, member));

/** What names somebody's resource, in the path or the body of each operation. A new operation has to be entered here. */
const NAMING: Readonly<Record<string, 'webhook' | 'session' | 'replay' | 'envelope' | 'nothing'>> = {
  listWebhooks: 'nothing',
  registerWebhook: 'nothing',
  testDraft: 'nothing',
  createSession: 'nothing',
  updateWebhook: 'webhook',
  deleteWebhook: 'webhook',
  readWebhook: 'webhook',
  patchWebhook: 'webhook',
  removeWebhook: 'webhook',
  readWebhookSecret: 'webhook',
  rotateWebhookSecret: 'webhook',
  enableWebhook: 'webhook',
  disableWebhook: 'webhook',
  testWebhook: 'webhook',
  replayWebhook: 'webhook',
  listDeliveries: 'webhook',
  listAllDeliveries: 'nothing',
  countDeliveries: 'nothing',
  listWebhookStates: 'nothing',
  readDeliveries: 'envelope',
  readPayload: 'envelope',
  retryDeliveries: 'envelope',
  retrySelection: 'webhook',
  listen: 'nothing',
  listReplays: 'nothing',
  readReplay: 'replay',
  cancelReplay: 'replay',
  readSession: 'session',
  endSession: 'session',
  createPortalLink: 'nothing',
  endPortalToken: 'nothing',
};
const BODIES: Readonly<Record<string, object>> = {
  updateWebhook: registration,
  deleteWebhook: { eventType: registration.eventType },
  patchWebhook: { endPointName: 'mine now' },
  retrySelection: { status: 'dead' },
};

const operations = routesOf(controllersOf(FEATURES)).filter(
  ({ access }) => access === 'bearer' || access === 'listing',
);

it('knows what every operation of a partner names', () => {
  expect(operations.map(({ text }) => text?.id ?? '').toSorted()).toEqual(Object.keys(NAMING).toSorted());
});

describe.each(operations.filter(({ text }) => NAMING[text?.id ?? ''] !== 'nothing'))(
  '$method $path',
  ({ method, path, text }) => {
    const send = (token: string, id: string): Promise<Answer> => {
      const body = BODIES[text?.id ?? ''];
      const naming = (named: string): object =>
        text?.id === 'retrySelection' ? { webhookIds: [named] } : { id: named };
      return relay.ask(method, path.replace(/:\w+/, id), {
        token,
        ...(body === undefined ? {} : { body: { ...body, ...naming(id) } }),
      });
    };
    /** All that an answer says beside its own address and request. */
    const said = ({ status, json }: Answer): unknown => [status, { ...(json as object), instance: '', requestId: '' }];

    it("answers to another partner's resource as to one that never was, and changes nothing", async () => {
      const theirs = { webhook, session, replay, envelope, nothing: '' }[NAMING[text?.id ?? ''] ?? 'nothing'];
      const absent = theirs === session ? 'A'.repeat(43) : randomUUID();
      const before = [await relay.stored(), await relay.redis.dbsize()];
      const [foreign, none] = [await send(other.token, theirs), await send(other.token, absent)];
      expect(said(foreign)).toEqual(said(none));
      expect(foreign.status).toBe(404);
      expect([await relay.stored(), await relay.redis.dbsize()]).toEqual(before);
      const { status } = await relay.ask('GET', `/auth/session/${session}`, { token: owner.token });
      expect(status).toBe(200);
      const { json } = await relay.ask('GET', `/replays/${replay}`, { token: owner.token });
      expect(json).toMatchObject({ state: 'running', matched: 9 });
      const read = await relay.ask('GET', `/webhooks/${webhook}/deliveries`, { token: owner.token });
      expect(read.json).toMatchObject({ deliveries: [{ envelopeId: envelope, status: 'delivered' }] });
    });
  },
);

/** They say more than the relay reads, by contract: registrations, OAuth, CloudEvents. */
const LENIENT = new Set([
  'registerWebhook',
  'testDraft',
  'updateWebhook',
  'deleteWebhook',
  'createSession',
  'endSession',
]);
describe.each(operations.filter(({ method, text }) => method !== 'GET' && !LENIENT.has(text?.id ?? '')))(
  'an order, $method $path,',
  ({ method, path, text }) => {
    const id = text?.id ?? '';
    const ids = { webhook: () => webhook, session: () => session, replay: () => replay, envelope: () => envelope };
    const named = NAMING[id] ?? 'nothing';
    const send = (query: string, unknown: object, headers = {}): Promise<Answer> => {
      const to = path.replace(/:\w+/, named === 'nothing' ? '' : ids[named]()) + query;
      return relay.ask(method, to, { token: owner.token, body: { ...BODIES[id], ...unknown }, headers });
    };

    it('is not obeyed with a parameter or a member that it does not know, or for a version that there is not', async () => {
      const before = [await relay.stored(), relay.spec.told().length];
      for (const [answer, status] of [
        [await send('?dryRun=true', {}), 400],
        [await send('', { dryrun: true }), 400],
        [await send('', {}, { 'if-match': '"999999"' }), 412],
      ] as const)
        expect([answer.status, answer.text]).toEqual([status, expect.any(String)]);
      expect((await send('', { dryrun: true })).json).toMatchObject({ errors: [{ pointer: '/dryrun' }] });
      expect([await relay.stored(), relay.spec.told().length]).toEqual(before);
    });
  },
);

it("lists nothing of another partner's, whichever credential is named", async () => {
  for (const body of [undefined, { apiKey: registration.apiKey }]) {
    const { status, json } = await relay.ask('GET', '/webhooks', { token: other.token, ...(body && { body }) });
    expect([status, json]).toEqual([200, []]);
  }
  const deliveries = (token: string) => relay.ask('GET', '/deliveries', { token });
  expect(await deliveries(owner.token)).toMatchObject({ json: { deliveries: [{ envelopeId: envelope }] } });
  expect(await deliveries(other.token)).toMatchObject({ status: 200, json: { deliveries: [] } });
  const named = await relay.ask('GET', `/deliveries?webhookId=${webhook}`, { token: other.token });
  expect(named.status).toBe(404);
  const states = (token: string) => relay.ask('GET', '/webhooks/status', { token });
  expect(await states(owner.token)).toMatchObject({ json: { webhooks: [{ id: webhook, delivered: 1 }] } });
  expect(await states(other.token)).toMatchObject({ status: 200, json: { webhooks: [] } });
  const replays = (token: string) => relay.ask('GET', '/replays', { token });
  expect(await replays(owner.token)).toMatchObject({ status: 200, json: { replays: [{ id: replay, matched: 9 }] } });
  expect(await replays(other.token)).toMatchObject({ status: 200, json: { replays: [] } });
});
