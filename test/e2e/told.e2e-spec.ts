import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from '../support/app.js';
import { type As, basicOf, Callers, type Role, ROLES } from '../support/callers.js';
import { Client, anEnvelope } from '../support/client.js';
import { Relay } from '../support/relay.js';
import { until } from '../support/until.js';

const CANARY = 'canary-4713-of-a-payload';
const eventType = 'task.created';
/** What a partner may do without a record: it looks at its own, and tests its own endpoints. */
const UNTOLD = new Set(['testDraft', 'testWebhook', 'readPayload']);

interface Told {
  readonly event: string;
  readonly requestId?: string;
  readonly partnerId?: string;
  readonly operator?: string;
}
interface Shown {
  readonly status: number;
  readonly text: string;
  readonly json: Readonly<Record<string, unknown>>;
}
interface OpenApi {
  readonly paths: Readonly<Record<string, Record<string, { operationId: string; security?: object[] }>>>;
}

describe('the operations app', () => {
  const folder = mkdtempSync(join(tmpdir(), 'relay-told-'));
  const [waiting, dead] = [randomUUID(), randomUUID()];
  let relay: Relay;
  let operations: App<'operations'>;
  let callers: Callers;
  let hook: string;
  beforeAll(async () => {
    relay = await Relay.start({ RETRY_SCHEDULE: '1h,1h,1h,1h,1h,1h,1h,1h' });
    operations = await App.start('operations', { ...relay.stack.env, SEARCH_INDEX: join(folder, 'index.sqlite') });
    callers = await Callers.of(relay, operations);
    const partner = new Client(relay.ingress.url, callers.partner.clientId, callers.partner.clientSecret);
    const source = await relay.source();
    // Both endpoints repeat what they got, in text and in a header.
    const echo = { headers: { 'content-type': 'text/plain', server: CANARY }, body: `cannot handle ${CANARY}` };
    relay.receiver.plan('/down', { status: 500, ...echo });
    relay.receiver.plan('/gone', { status: 410, ...echo });
    hook = await partner.register({ eventType, endPointUrl: relay.receiver.url('/down'), apiKey: 'key' });
    await partner.register({ eventType: 'task.deleted', endPointUrl: relay.receiver.url('/gone'), apiKey: 'key' });
    await source.post(anEnvelope({ id: waiting, type: eventType, payload: { text: CANARY } }));
    await source.post(anEnvelope({ id: dead, type: 'task.deleted', payload: { text: CANARY } }));
  });
  afterAll(async () => {
    await operations?.stop();
    await relay?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const ask = async (url: string, method: string, path: string, as: As, body?: object): Promise<Shown> => {
    const headers = { ...as, ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
    const answer = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    const text = await answer.text();
    const isJson = /json/.test(answer.headers.get('content-type') ?? '');
    return { status: answer.status, text, json: isJson ? (JSON.parse(text) as Shown['json']) : {} };
  };
  const asOperator = (role: Role, path: string): Promise<Shown> =>
    ask(operations.url, 'GET', path, basicOf(callers.operators[role]));
  const audit = async (query: string): Promise<readonly Told[]> =>
    (await asOperator('admin', `/audit?${query}&limit=200`)).json['records'] as Told[];

  it('lets an operator look by a link, and an admin change something too', async () => {
    const made: unknown[] = [];
    for (const role of ROLES)
      for (const access of ['read', 'write'] as const)
        made.push([role, access, (await callers.linkOf(role, access)).status]);
    expect(made).toEqual([
      ['viewer', 'read', 403],
      ['viewer', 'write', 403],
      ['operator', 'read', 201],
      ['operator', 'write', 403],
      ['admin', 'read', 201],
      ['admin', 'write', 201],
    ]);
  });

  /** Does everything that a partner can do, and returns the ids of the requests by operation. */
  async function everything(as: As, name: string): Promise<Map<string, string>> {
    const requests = new Map<string, string>();
    const done = async (operation: string, method: string, path: string, body?: object): Promise<Shown> => {
      const id = `${name}-${operation}`;
      requests.set(operation, id);
      const call = (): Promise<Shown> => ask(relay.ingress.url, method, path, { ...as, 'x-request-id': id }, body);
      // An attempt may be under way, and then nothing waits to be tried again.
      const isDone = async (): Promise<Shown | false> => {
        const shown = await call();
        return shown.status < 300 && shown.json['retried'] !== 0 && shown;
      };
      return operation.startsWith('retry') ? until(`${operation} is done`, isDone) : call();
    };
    const draft = { eventType, endPointUrl: relay.receiver.url(`/${name}`), apiKey: 'key' };
    const made = await done('registerWebhook', 'POST', '/webhooks', draft);
    const one = `/webhooks/${String(made.json['id'])}`;
    const statuses = [made.status];
    const then = async (...call: Parameters<typeof done>): Promise<Shown> => {
      const shown = await done(...call);
      statuses.push(shown.status);
      return shown;
    };
    await then('testDraft', 'POST', '/webhooks/test', { ...draft, endPointUrl: relay.receiver.url('/draft') });
    await then('testWebhook', 'POST', `${one}/test`);
    await then('readWebhookSecret', 'GET', `${one}/secret`);
    await then('rotateWebhookSecret', 'POST', `${one}/secret/rotate`);
    await then('patchWebhook', 'PATCH', one, { endPointName: name });
    await then('disableWebhook', 'POST', `${one}/disable`);
    const replay = await then('replayWebhook', 'POST', `${one}/replay`, { status: 'all' });
    await then('cancelReplay', 'DELETE', `/replays/${String(replay.json['id'])}`);
    await then('enableWebhook', 'POST', `${one}/enable`);
    await then('retryDeliveries', 'POST', `/deliveries/${waiting}/retry`, { webhookId: hook });
    await then('retrySelection', 'POST', '/deliveries/retry', { status: 'waiting', webhookIds: [hook] });
    await then('readPayload', 'GET', `/deliveries/${waiting}/payload`);
    await then('removeWebhook', 'DELETE', one);
    expect(statuses.filter((status) => status >= 300)).toEqual([]);
    return requests;
  }

  it('tells all that is done by a link, and names the operator who made it', async () => {
    const { as } = await callers.linkOf('admin', 'write');
    const requests = await everything(as, 'link');
    const { paths } = (await ask(relay.ingress.url, 'GET', '/openapi.json', {})).json as unknown as OpenApi;
    const changes = Object.values(paths).flatMap((methods) =>
      Object.entries(methods)
        .filter(([method, { security = [] }]) => method !== 'get' && security.some((each) => 'portal' in each))
        .map(([, { operationId }]) => operationId),
    );
    // Whoever leaves changes nothing; a new operation has to be tried above.
    const told = [...changes.filter((id) => id !== 'endPortalToken'), 'readPayload', 'readWebhookSecret'];
    expect([...requests.keys()].toSorted()).toEqual(told.toSorted());
    const { clientId: operator } = callers.operators.admin;
    const records = await audit(`operator=${operator}&partner=${callers.partner.clientId}`);
    const named = new Set(records.map(({ requestId }) => requestId));
    expect([...requests].filter(([, id]) => !named.has(id))).toEqual([]);
  });

  it('tells what a partner changes, and in whose name it makes a link', async () => {
    const as = await callers.token(callers.partner);
    const requests = await everything(as, 'partner');
    const links = { ...as, 'x-request-id': 'partner-link' };
    expect((await ask(relay.ingress.url, 'POST', '/portal/links', links, { access: 'read' })).status).toBe(201);
    requests.set('createPortalLink', 'partner-link');
    const records = await until('the link is told', async () => {
      const found = await audit(`partner=${callers.partner.clientId}`);
      return found.some(({ event, operator }) => event === 'portal.opened' && operator === undefined) && found;
    });
    const own = records.filter(({ operator }) => operator === undefined);
    const told = [...requests].filter(([, id]) => own.some(({ requestId }) => requestId === id)).map(([each]) => each);
    expect(told.toSorted()).toEqual([...requests.keys()].filter((each) => !UNTOLD.has(each)).toSorted());
    const text = JSON.stringify(records);
    for (const secret of ['whsec_', CANARY, '/partner', '"key"']) expect(text).not.toContain(secret);
  });

  it('shows a viewer no envelope, nor an answer that repeats one, on any path', async () => {
    const { paths } = (await asOperator('admin', '/openapi.json')).json as unknown as OpenApi;
    const letter = await until('there is a dead letter', async () => {
      const { deadLetters } = (await asOperator('admin', '/dead-letters')).json as { deadLetters: { id: string }[] };
      return deadLetters[0]?.id;
    });
    await until('the index has both attempts', async () => {
      const { attempts } = (await asOperator('admin', '/attempts')).json as { attempts: { answer?: string }[] };
      return attempts.filter(({ answer }) => answer?.includes(CANARY)).length > 1;
    });
    const ids: Readonly<Record<string, readonly string[]>> = {
      '/envelopes': [waiting, dead],
      '/dead-letters': [letter],
      '/webhooks': [hook],
      '/clients': [callers.partner.clientId],
    };
    const documented = Object.entries(paths)
      .filter(([, methods]) => 'get' in methods)
      .flatMap(([path]) => {
        const named = ids[path.slice(0, path.indexOf('/{'))] ?? [randomUUID()];
        return path.includes('{') ? named.map((id) => path.replace(/\{\w+\}/, id)) : [path];
      });
    const lists = ['delayed', 'waiting', 'latest'].flatMap((status) =>
      ['deliveries', 'dead-letters'].map((queue) => `activeQueue=${queue}&status=${status}&page=1&jobsPerPage=100`),
    );
    const board = [`/dead-letters/${letter}`, ...lists.map((query) => `?${query}`)].map(
      (place) => `/board/api/queues${place}`,
    );
    const shows = async (role: Role): Promise<string[]> => {
      const found: string[] = [];
      for (const path of [...documented, ...board])
        if ((await asOperator(role, path)).text.includes(CANARY)) found.push(path);
      return found;
    };
    expect(await shows('viewer')).toEqual([]);
    expect((await shows('operator')).toSorted()).toEqual(
      [
        '/attempts',
        '/dead-letters',
        `/dead-letters/${letter}`,
        ...[waiting, dead].flatMap((id) => [`/envelopes/${id}`, `/envelopes/${id}/payload`]),
      ].toSorted(),
    );
  });
});
