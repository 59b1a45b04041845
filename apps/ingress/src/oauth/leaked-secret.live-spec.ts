import { ClientDirectory } from '@relay/identity';
import { z } from 'zod';
import { appOfSpec } from '../http/spec-app.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { OAuthModule } from './oauth.module.js';

interface Client {
  readonly clientId: string;
  readonly clientSecret: string;
}

const spec = await appOfSpec([OAuthModule, SessionsModule]);

const post = (path: string, { clientId, clientSecret }: Client, body: string): Promise<Response> =>
  fetch(spec.url + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
    },
    body,
  });
const Token = z.object({ access_token: z.string() });
/** Undefined when the secret is refused. */
const tokenOf = async (client: Client): Promise<string | undefined> => {
  const response = await post('/auth/token', client, 'grant_type=client_credentials');
  return response.status === 200 ? Token.parse(await response.json()).access_token : undefined;
};
/** Whether a token is let in; introspection must say the same. */
const works = async (token: string | undefined, asker: Client): Promise<boolean> => {
  const { status } = await fetch(`${spec.url}/auth/session/absent`, { headers: { authorization: `Bearer ${token}` } });
  const said = await (await post('/auth/introspect', asker, `token=${token}`)).json();
  expect([401, 404]).toContain(status);
  expect(said).toMatchObject({ active: status === 404 });
  return status === 404;
};
const known = (): Promise<void> => spec.app.get(ClientDirectory).refresh();

describe("a thief of a partner's secret", () => {
  const stolen = async () => {
    const client = await spec.clients.createPartner('Robbed');
    const token = await tokenOf(client);
    expect(await works(token, client)).toBe(true);
    const rotate = async (options?: { endsTokens: boolean }): Promise<Client> => {
      const rotated = await spec.clients.rotateSecret(client.clientId, { ...options, force: true });
      await known();
      return rotated;
    };
    return { client, token, rotate };
  };

  it('holds nothing after `rotate --end-tokens`, and what is fetched right after works', async () => {
    const { client, token, rotate } = await stolen();
    const next = await rotate({ endsTokens: true });
    expect([await works(token, next), await tokenOf(client)]).toEqual([false, undefined]);
    expect(await works(await tokenOf(next), next)).toBe(true);
  });

  it('holds nothing after the second rotation, and what the secret in between has fetched works on', async () => {
    const { client, token, rotate } = await stolen();
    const second = await rotate();
    const between = await tokenOf(second);
    expect([await works(token, second), await works(between, second)]).toEqual([true, true]);
    const late = await tokenOf(client);
    const third = await rotate();
    expect([await works(token, third), await works(late, third), await tokenOf(client)]).toEqual([
      false,
      false,
      undefined,
    ]);
    expect([await works(between, third), await works(await tokenOf(second), third)]).toEqual([true, true]);
  });

  it('holds nothing after it was fetched by a process that did not know yet', async () => {
    const { client, rotate } = await stolen();
    // The process learns of a rotation at its next refresh only; until then it takes the secret.
    await spec.clients.rotateSecret(client.clientId, { endsTokens: true });
    const late = await tokenOf(client);
    const next = await rotate();
    expect(await works(late, next)).toBe(false);
  });

  it('holds nothing while the partner is disabled, and no token of before once it is enabled', async () => {
    const { client, token } = await stolen();
    const operator = await spec.clients.createOperator('Ops', 'admin');
    await spec.clients.disable(client.clientId);
    await known();
    expect([await works(token, operator), await tokenOf(client)]).toEqual([false, undefined]);
    await spec.clients.enable(client.clientId);
    await known();
    expect(await works(token, operator)).toBe(false);
    expect(await works(await tokenOf(client), client)).toBe(true);
  });
});
