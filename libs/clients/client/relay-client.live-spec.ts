import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';
import { EVENT_TYPES } from '@relay/events';
import { Publisher } from '@relay/publishing';
import type { MemoryPublisher } from '@relay/testing';
import { DeliveriesModule } from '../../../apps/ingress/src/deliveries/deliveries.module.js';
import { OAuthModule } from '../../../apps/ingress/src/oauth/oauth.module.js';
import { SessionsModule } from '../../../apps/ingress/src/sessions/sessions.module.js';
import { startWebhooks, type Webhooks } from '../../../apps/ingress/src/webhooks/spec-webhooks.js';
import { Envelope, RelayClient, RelayProblem, TokenRefused } from './index.js';

let relay: Webhooks;
let credentials: { clientId: string; clientSecret: string };
let source: RelayClient;
beforeAll(async () => {
  relay = await startWebhooks({}, [OAuthModule, SessionsModule, DeliveriesModule]);
  credentials = await relay.spec.clients.createPartner('acme');
  const log = relay.spec.app.get<Publisher, MemoryPublisher>(Publisher);
  for (const type of EVENT_TYPES) log.createTopic(type);
  const issued = await relay.spec.clients.createSource('billing', { credential: 'client' });
  if (!('clientSecret' in issued)) throw new Error('no secret');
  source = new RelayClient({ url: relay.spec.url, clientId: issued.clientId, clientSecret: issued.clientSecret });
});
afterAll(() => relay?.stop());

/** A client of the partner that keeps what it sends, on a clock of its own. */
function aClient(changes: Partial<ConstructorParameters<typeof RelayClient>[0]> = {}) {
  const asked: string[] = [];
  const tokens = new Set<string>();
  const clock = { now: Date.now() };
  const client = new RelayClient({
    url: relay.spec.url,
    ...credentials,
    now: () => clock.now,
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      tokens.add(new Headers(init?.headers).get('authorization')?.replace(/^(?:Bearer |Basic .*)/, '') ?? '');
      asked.push(`${init?.method} ${new URL(new Request(input).url).pathname} ${response.status}`);
      return response;
    },
    ...changes,
  });
  return { client, asked, tokens, clock };
}

let registered = 0;
const aWebhook = () =>
  ({ eventType: 'plan.updated', endPointUrl: `https://example.com/${(registered += 1)}`, apiKey: 'k' }) as const;
const caught = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('RelayClient', () => {
  it('registers, reads, changes and removes a webhook', async () => {
    const { client } = aClient();
    const webhook = aWebhook();
    const { id } = await client.call('registerWebhook', { body: webhook });
    const { secret } = await client.call('readWebhookSecret', { path: { id } });
    expect(secret).toMatch(/^whsec_/);
    const { headers, body } = await client.request('readWebhook', { path: { id } });
    expect(body).toMatchObject({ id, eventType: 'plan.updated', status: 'active' });

    const change = {
      path: { id },
      headers: { 'if-match': headers.get('etag') ?? '' },
      body: { endPointName: 'plans' },
    };
    await client.call('patchWebhook', change);
    expect(await caught(client.call('patchWebhook', change))).toMatchObject({ name: 'RelayProblem', status: 412 });
    const listed = await client.call('listWebhooks', { query: { eventType: 'plan.updated' } });
    expect(listed.map(({ endPointName }) => endPointName)).toEqual(['plans']);

    expect(await client.call('removeWebhook', { path: { id } })).toBeUndefined();
    expect(await client.call('listWebhooks')).toEqual([]);
  });

  it('sends envelopes as a source', async () => {
    const envelope = Envelope.parse({ id: randomUUID(), type: 'plan.updated', payload: { n: 1 } });
    expect(await source.call('sendEnvelope', { body: envelope })).toMatchObject({ status: 'accepted' });
    expect(await source.call('sendBatch', { body: [envelope] })).toMatchObject({ results: [{ status: 'duplicate' }] });
  });

  it('keeps a path in its place, whatever is put into it', async () => {
    const { client, asked } = aClient();
    await caught(client.call('readSession', { path: { sessionId: '../../webhooks?limit=1#x' } }));
    expect(asked.at(-1)).toBe('GET /auth/session/..%2F..%2Fwebhooks%3Flimit%3D1%23x 404');
    for (const sessionId of ['', '.', '..'])
      await expect(client.call('readSession', { path: { sessionId } })).rejects.toThrow(TypeError);
  });

  it('does not compile without the required input of an operation', () => {
    const { client } = aClient();
    const wrong = [
      // @ts-expect-error the path is missing
      () => client.call('readWebhook'),
      // @ts-expect-error there is no such operation
      () => client.call('readWebhooks'),
      // @ts-expect-error an event type is a text
      () => client.call('registerWebhook', { body: { ...aWebhook(), eventType: 5 } }),
      // @ts-expect-error a list of webhooks is not one
      async () => (await client.call('listWebhooks')).id,
    ];
    expect(wrong).toHaveLength(4);
  });
});

describe('the access token of a client', () => {
  it('is fetched once for all concurrent calls, and kept', async () => {
    const { client, asked } = aClient();
    await Promise.all(Array.from({ length: 10 }, () => client.call('listWebhooks')));
    await client.call('listWebhooks');
    expect(asked.filter((line) => line.includes('token'))).toEqual(['POST /auth/token 200']);
    expect(asked).toHaveLength(12);
  });

  it('is renewed a minute before its end, not sooner', async () => {
    const { client, asked, clock } = aClient();
    await client.call('listWebhooks');
    clock.now += 3_539_000;
    await client.call('listWebhooks');
    expect(asked).toHaveLength(3);
    clock.now += 2_000;
    await client.call('listWebhooks');
    expect(asked.slice(3)).toEqual(['POST /auth/token 200', 'GET /webhooks 200']);
  });

  it('is fetched again when the relay refuses it, once for all calls, and each request is repeated with its body', async () => {
    const { client, asked, tokens } = aClient();
    await client.call('listWebhooks');
    const body = new URLSearchParams({ token: [...tokens].join('') });
    const { status } = await fetch(`${relay.spec.url}/auth/revoke`, { method: 'POST', headers: basic(), body });
    expect(status).toBe(200);

    asked.length = 0;
    await Promise.all([1, 2, 3].map(() => client.call('registerWebhook', { body: aWebhook() })));
    const count = (line: string) => asked.filter((other) => other === line).length;
    expect(['POST /webhooks 401', 'POST /auth/token 200', 'POST /webhooks 201'].map(count)).toEqual([3, 1, 3]);
  });

  it('is kept when the relay refuses the one before it', async () => {
    let issued = 0;
    let isSecondThere: () => void = () => undefined;
    const secondThere = new Promise<void>((resolve) => (isSecondThere = resolve));
    const { server, url, seen } = await aServer(async (path, authorization) => {
      if (path === '/auth/token') return [200, `{"access_token":"t${(issued += 1)}","expires_in":3600}`];
      if (authorization === 'Bearer t2') {
        isSecondThere();
        return [200, '[]'];
      }
      if (path === '/webhooks?limit=2') await secondThere;
      return [401, '{}'];
    });
    const { client } = aClient({ url });
    await Promise.all(['1', '2'].map((limit) => client.call('listWebhooks', { query: { limit } })));
    expect(seen.filter((path) => path === '/auth/token')).toHaveLength(2);
    server.close();
  });

  it('is fetched again only once for a call that is refused twice', async () => {
    const { server, url, seen } = await aServer((path) =>
      path === '/auth/token' ? [200, '{"access_token":"t","expires_in":3600}'] : [401, '{}'],
    );
    const { client } = aClient({ url });
    expect(await caught(client.call('listWebhooks'))).toMatchObject({ name: 'RelayProblem', status: 401 });
    expect(seen).toEqual(['/auth/token', '/webhooks', '/auth/token', '/webhooks']);
    server.close();
  });

  it('is not given for a wrong secret, which is asked for again with the next request', async () => {
    const { client, asked } = aClient({ clientSecret: 'relay_sk_wrong' });
    for (const _ of [1, 2]) {
      const error = await caught(client.call('listWebhooks'));
      expect(error).toBeInstanceOf(TokenRefused);
      expect(error).toMatchObject({ status: 401, error: 'invalid_client', message: 'no access token: invalid_client' });
    }
    expect(asked).toEqual(['POST /auth/token 401', 'POST /auth/token 401']);
  });
});

describe('a refused call', () => {
  it.each<[string, () => Promise<unknown>, object]>([
    [
      'invalid members',
      () => aClient().client.call('registerWebhook', { body: { ...aWebhook(), endPointUrl: 'x' } }),
      { status: 400, code: 'invalid-body', problem: { errors: [{ pointer: '/endPointUrl' }] } },
    ],
    ['a missing scope', () => source.call('listWebhooks'), { status: 403, code: 'insufficient-scope' }],
    ['what is absent', () => aClient().client.call('readWebhook', { path: { id: randomUUID() } }), { status: 404 }],
  ])('throws for %s a RelayProblem with the answer of the relay', async (_, asking, expected) => {
    const error = await caught(asking());
    expect(error).toBeInstanceOf(RelayProblem);
    expect(error).toMatchObject(expected);
  });

  it('throws for a conflict an error that names the existing webhook', async () => {
    const { client } = aClient();
    const webhook = aWebhook();
    const { id } = await client.call('registerWebhook', { body: webhook });
    const error = await caught(client.call('registerWebhook', { body: webhook }));
    expect(error).toMatchObject({ status: 409, code: 'conflict', problem: { id } });
  });

  it('throws only the status and Retry-After if a proxy refuses it', async () => {
    const { server, url } = await aServer((path) =>
      path === '/relay/auth/token' ? [200, '{"access_token":"t","expires_in":3600}'] : [502, '<html>'],
    );
    const { client } = aClient({ url: `${url}/relay/` });
    const error = await caught(client.call('listWebhooks'));
    expect(error).toMatchObject({ status: 502, problem: undefined, code: undefined, retryAfterSeconds: 7 });
    server.close();
  });

  it.each([502, 200])('throws the status if the body of a %d is no JSON but is called so', async (status) => {
    const { server, url } = await aServer((path) =>
      path === '/auth/token' ? [200, '{"access_token":"t","expires_in":3600}'] : [status, '{oops'],
    );
    const error = await caught(aClient({ url }).client.call('listWebhooks'));
    expect(error).toMatchObject({ name: 'RelayProblem', status, problem: undefined, retryAfterSeconds: 7 });
    server.close();
  });

  it('throws the error of `fetch` if the answer with the token breaks off', async () => {
    const server = createServer((_, response) => void response.writeHead(200).write('{"access_token":'));
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await expect(aClient({ url, timeoutMs: 100 }).client.call('listWebhooks')).rejects.toThrow('timeout');
    server.closeAllConnections();
    server.close();
  });

  it('throws for a redirect and for an answer that does not come', async () => {
    const { server, url, seen } = await aServer((path) => (path === '/auth/token' ? [307, ''] : [200, '{}']));
    await expect(aClient({ url }).client.call('listWebhooks')).rejects.toThrow('answered 307');
    expect(seen).toEqual(['/auth/token']);
    server.close();
    const silent = await aServer(() => undefined);
    await expect(aClient({ url: silent.url, timeoutMs: 50 }).client.call('listWebhooks')).rejects.toThrow('timeout');
    silent.server.closeAllConnections();
    silent.server.close();
  });
});

const basic = (): Record<string, string> => ({
  authorization: `Basic ${btoa(`${credentials.clientId}:${credentials.clientSecret}`)}`,
});

type Answered = [status: number, body: string];

/** A server in the relay's place. */
async function aServer(
  answer: (path: string, authorization?: string) => Promise<Answered> | Answered | undefined,
): Promise<{ server: Server; url: string; seen: string[] }> {
  const seen: string[] = [];
  const answered = async ({ url = '', headers }: IncomingMessage, response: ServerResponse): Promise<void> => {
    seen.push(url);
    const [status, body] = (await answer(url, headers.authorization)) ?? [];
    if (status === undefined) return;
    const type = body?.startsWith('{') ? 'application/json' : 'text/html';
    response.writeHead(status, { 'content-type': type, 'retry-after': '7', location: '/elsewhere' }).end(body);
  };
  const server = createServer((request, response) => void answered(request, response));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}
