import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { freePort, startRedisServer, type RedisServer } from '@relay/testing';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { RunningOperations } from '../spec-operations.js';

const CONSOLE_URL = 'https://console.example';
const SETTINGS = { OIDC_CLIENT_ID: 'console', OIDC_CLIENT_SECRET: 'secret of the console', CONSOLE_URL };
const ROLES = { OIDC_VIEWERS: 'staff,guests', OIDC_OPERATORS: 'on call', OIDC_ADMINS: 'relay-admins' };

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();
const nowS = (): number => Math.floor(Date.now() / 1_000);

/** A provider that says whatever a test wants, which no real one does. */
class Provider {
  /** Claims that are other than usual. */
  claims: Record<string, unknown> = {};
  /** Id of the key that signs ID tokens, and id of the key that the provider publishes. */
  keys = ['k1', 'k1'];
  isUnsigned = false;
  /** Parameters of the latest sign-in. */
  asked = new URLSearchParams();
  readonly #made = new Map<string, ReturnType<typeof generateKeyPair>>();
  #server: Server | undefined;

  constructor(readonly port: number) {}

  readonly issuer = (): string => `http://127.0.0.1:${this.port}`;

  async open(): Promise<void> {
    const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const body = await this.#answer(request.url ?? '', await textOf(request));
      response.writeHead(body ? 200 : 400, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body ?? { error: 'invalid_grant' }));
    };
    this.#server = createServer((request, response) => void answer(request, response)).listen(this.port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  close(): void {
    this.#server?.close();
    this.#server?.closeAllConnections();
  }

  #key(name = ''): ReturnType<typeof generateKeyPair> {
    const key = this.#made.get(name) ?? generateKeyPair('ES256', { extractable: true });
    this.#made.set(name, key);
    return key;
  }

  async #answer(path: string, form: string): Promise<object | undefined> {
    const issuer = this.issuer();
    const [auth, token, jwks, end] = ['/auth', '/token', '/keys', '/end'].map((name) => issuer + name);
    const endpoints = {
      authorization_endpoint: auth,
      token_endpoint: token,
      jwks_uri: jwks,
      end_session_endpoint: end,
    };
    const id_token_signing_alg_values_supported = ['ES256', 'none'];
    if (path.startsWith('/.well-known'))
      return {
        issuer,
        ...endpoints,
        id_token_signing_alg_values_supported,
        authorization_response_iss_parameter_supported: true,
      };
    const kid = this.keys[1];
    if (path === '/keys')
      return { keys: [{ ...(await exportJWK((await this.#key(kid)).publicKey)), kid, alg: 'ES256' }] };
    const verifier = new URLSearchParams(form).get('code_verifier') ?? '';
    if (sha256(verifier).toString('base64url') !== this.asked.get('code_challenge')) return undefined;
    const usual = {
      iss: issuer,
      aud: 'console',
      sub: 's1',
      nonce: this.asked.get('nonce'),
      iat: nowS(),
      exp: nowS() + 60,
    };
    const at_hash = sha256('access').subarray(0, 16).toString('base64url');
    const claims = { ...usual, at_hash, email: 'ada@example.com', roles: ['staff'], ...this.claims };
    const signed = new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: this.keys[0] ?? '' });
    const id_token = this.isUnsigned
      ? new UnsecuredJWT(claims).encode()
      : await signed.sign((await this.#key(this.keys[0])).privateKey);
    return { access_token: 'access', token_type: 'Bearer', id_token };
  }
}

describe('the sign-in at an identity provider', () => {
  let server: RedisServer;
  let provider: Provider;
  let operations: RunningOperations;
  beforeAll(async () => {
    server = await startRedisServer();
    provider = new Provider(await freePort());
    operations = await start();
  });
  afterAll(async () => {
    provider.close();
    await operations.close();
    await server.stop();
  });
  beforeEach(() => Object.assign(provider, { claims: {}, keys: ['k1', 'k1'], isUnsigned: false }));

  const start = (changes: Record<string, string> = {}): Promise<RunningOperations> =>
    RunningOperations.start(server, { ...SETTINGS, OIDC_ISSUER: provider.issuer(), ...ROLES, ...changes });

  /** A browser with its cookies. */
  class Browser {
    readonly cookies: Map<string, string>;
    constructor(
      private readonly at = operations,
      cookies: Iterable<[string, string]> = [],
    ) {
      this.cookies = new Map(cookies);
    }

    async get(
      path: string,
      { method = 'GET', ...more }: Record<string, string> = {},
      body?: string,
    ): Promise<Response> {
      const cookie = [...this.cookies].map((pair) => pair.join('=')).join('; ');
      const headers = {
        cookie,
        origin: this.at.url,
        'relay-console': 'acting',
        'content-type': 'application/json',
        ...more,
      };
      const answer = await fetch(this.at.url + path, { method, redirect: 'manual', headers, body: body ?? null });
      for (const set of answer.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
        if (value === '') this.cookies.delete(name);
        else this.cookies.set(name, value);
      }
      return answer;
    }

    /** Begins a sign-in, and returns the answer with which the provider sends the browser back. */
    async begin(next = '/webhooks?q=1'): Promise<URLSearchParams> {
      const { headers } = await this.get(`/sign-in/start?next=${encodeURIComponent(next)}`);
      provider.asked = new URL(headers.get('location') ?? '').searchParams;
      return new URLSearchParams({ code: 'c', state: provider.asked.get('state') ?? '', iss: provider.issuer() });
    }

    back = (answer: URLSearchParams): Promise<Response> => this.get(`/sign-in/callback?${answer.toString()}`);

    async signIn(claims: object = {}): Promise<Response> {
      Object.assign(provider.claims, claims);
      return this.back(await this.begin());
    }

    hasSession = (): boolean => this.cookies.has('__Host-relay_console');
  }

  it('says that the provider is away, while client id and secret go on to open the console', async () => {
    const browser = new Browser();
    const ways = await (await browser.get('/sign-in')).json();
    expect(ways).toEqual({ provider: { name: `127.0.0.1:${provider.port}`, url: `${CONSOLE_URL}/sign-in/start` } });
    const answer = await browser.get('/sign-in/start');
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await answer.text()).toContain('does not answer at the moment.');
    const { clientId, clientSecret } = operations.operator;
    expect((await operations.call('POST', '/session', { clientId, clientSecret })).status).toBe(200);
    await provider.open();
    expect((await browser.signIn()).status).toBe(200);
  });

  it.each([
    ['viewer', { roles: 'guests' }, 403],
    ['operator', { roles: ['other', 'on call', 'staff'] }, 200],
    ['admin', { roles: ['staff', 'relay-admins'] }, 200],
  ])('gives a person the role %s by claim, and names the person in the audit', async (role, claims, status) => {
    const browser = new Browser();
    const answer = await browser.signIn(claims);
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('url=../#/webhooks?q=1')]);
    expect(answer.headers.getSetCookie()).toEqual([
      '__Host-relay_sign_in=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax; Secure',
      expect.stringMatching(
        /^__Host-relay_console=person%3As1\.[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
      ),
    ]);
    const shown = await (await browser.get('/session')).json();
    expect(shown).toMatchObject({ clientId: 'person:s1', name: 'ada@example.com', role });
    const told = operations.told().length;
    const purge = await browser.get('/dead-letters/purge', { method: 'POST' }, '{"all":true}');
    expect(purge.status).toBe(status);
    const operator = 'person:s1 ada@example.com';
    expect(operations.told().slice(told)).toEqual(
      status === 403 ? [] : expect.arrayContaining([expect.objectContaining({ operator })]),
    );
  });

  it.each([
    [{ email: 'eve@example.com', roles: ['interns'] }, 'eve@example.com (subject s1) has no access'],
    [
      { email: 'boss@example.com', email_verified: false, preferred_username: '<eve>', roles: [] },
      '&#60;eve&#62; (subject s1)',
    ],
    [{ email: undefined, roles: { admin: true } }, 'Subject s1 has no access'],
  ])('refuses a person without a role by name: %j', async (claims, words) => {
    const browser = new Browser();
    const answer = await browser.signIn(claims);
    expect([answer.status, browser.hasSession()]).toEqual([403, false]);
    expect(await answer.text()).toContain(words);
  });

  it.each<[string, Record<string, string | undefined>]>([
    ['another state', { state: 'x' }],
    ['no state', { state: undefined }],
    ['another issuer', { iss: 'https://evil.example' }],
    ['no issuer', { iss: undefined }],
    ['an error of the provider', { error: 'access_denied', error_description: 'You <b>may</b> not.' }],
  ])('refuses an answer with %s', async (what, changes) => {
    const browser = new Browser();
    const answer = await browser.begin();
    for (const [name, value] of Object.entries(changes)) {
      answer.delete(name);
      if (value !== undefined) answer.set(name, value);
    }
    const refused = await browser.back(answer);
    expect([refused.status, browser.hasSession()]).toEqual([403, false]);
    expect(await refused.text()).toContain(
      what.includes('error') ? 'access was denied. You &#60;b&#62;may' : 'does not belong',
    );
  });

  it('takes an answer once, and only in the browser that began the sign-in last', async () => {
    const [browser, other] = [new Browser(), new Browser()];
    await other.begin();
    const answer = await browser.begin();
    const thief = new Browser(operations, browser.cookies);
    for (const elsewhere of [other, new Browser()]) expect((await elsewhere.back(answer)).status).toBe(403);
    expect([(await browser.back(answer)).status, (await browser.back(answer)).status]).toEqual([200, 403]);
    // This provider takes a code twice.
    expect([(await thief.back(answer)).status, thief.hasSession()]).toEqual([403, false]);
  });

  it.each<[string, object, object?]>([
    ['another nonce', { nonce: 'x' }],
    ['another issuer', { iss: 'https://evil.example' }],
    ['another audience', { aud: 'other' }],
    ['a second audience without azp', { aud: ['console', 'other'] }],
    ['the azp of another client', { azp: 'other' }],
    ['the hash of another access token', { at_hash: 'AAAAAAAAAAAAAAAAAAAAAA' }],
    ['an end 31 seconds ago', { exp: nowS() - 31 }],
    ['a subject that is no ASCII', { sub: 'ä' }],
    ['no signature', {}, { isUnsigned: true }],
    ['the signature of a key that is not published', {}, { keys: ['k2', 'k1'] }],
  ])('refuses an ID token with %s', async (_, claims, changes = {}) => {
    Object.assign(provider, changes);
    const browser = new Browser();
    expect([(await browser.signIn(claims)).status, browser.hasSession()]).toEqual([503, false]);
  });

  it.each<[string, object, object?]>([
    ['an end 20 seconds ago', { exp: nowS() - 20 }],
    ['a second audience and our azp', { aud: ['console', 'other'], azp: 'console' }],
    ['the key that the provider has changed to', {}, { keys: ['k3', 'k3'] }],
  ])('takes an ID token with %s', async (_, claims, changes = {}) => {
    Object.assign(provider, changes);
    expect((await new Browser().signIn(claims)).status).toBe(200);
  });

  it('ends the session that the browser had, and those of other settings', async () => {
    const browser = new Browser();
    await browser.signIn();
    const before = new Browser(operations, browser.cookies);
    await browser.signIn({ sub: 's2' });
    expect([(await before.get('/session')).status, (await browser.get('/session')).status]).toEqual([401, 200]);
    for (const changes of [{ OIDC_VIEWERS: 'staff' }, { OIDC_ROLE_CLAIM: 'realm_access.roles' }]) {
      const others = await start(changes);
      const there = new Browser(others, browser.cookies);
      expect((await there.get('/session')).status).toBe(401);
      expect((await there.signIn({ realm_access: { roles: ['staff'] } })).status).toBe(200);
      await others.close();
    }
  });

  it('signs out here and at the provider', async () => {
    const browser = new Browser();
    await browser.signIn({ sub: 'auth0|1.2' });
    const kept = new Browser(operations, browser.cookies);
    const leave = { method: 'DELETE', 'relay-console-operator': 'person:auth0|1.2' };
    expect([(await browser.get('/session', leave)).status, (await kept.get('/session')).status]).toEqual([204, 401]);
    const { status, headers } = await browser.get('/sign-in/end');
    const query = new URLSearchParams({ client_id: 'console', post_logout_redirect_uri: `${CONSOLE_URL}/` });
    expect([status, headers.get('location')]).toEqual([303, `${provider.issuer()}/end?${query.toString()}`]);
  });

  it('begins on no page of another site, and leads to no other site', async () => {
    const browser = new Browser();
    expect((await browser.get('/sign-in/start', { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    const answer = await browser.back(await browser.begin('//evil.example/"><script>'));
    expect(await answer.text()).toContain('url=../#/"');
  });

  it('stops after 30 failures of an address, until a minute is over', async () => {
    const statuses: number[] = [];
    for (let failed = 0; failed < 32; failed += 1) {
      const browser = new Browser();
      await browser.begin();
      statuses.push((await browser.back(new URLSearchParams({ code: 'guessed' }))).status);
    }
    expect(statuses.at(-1)).toBe(429);
  });

  it('is not there without an issuer', async () => {
    const others = await RunningOperations.start(server);
    const browser = new Browser(others);
    expect(await (await browser.get('/sign-in')).json()).toEqual({ provider: null });
    for (const path of ['start', 'callback', 'end']) expect((await browser.get(`/sign-in/${path}`)).status).toBe(404);
    await others.close();
  });
});
