import { randomBytes, randomUUID } from 'node:crypto';
import { Keyring } from '@relay/keyring';
import { ProblemError } from '@relay/problem';
import { connectRedis, redisReady } from '@relay/redis';
import { aSigningKeyText, memoryRegistry, startRedisServer, type RedisServer } from '@relay/testing';
import type { Redis } from 'ioredis';
import { ClientDirectory, Clients, ClientStore } from '@relay/identity';
import { AccessTokens, Guesses, parseSigningKeys, SourceGuard, type Caller } from './index.js';

const JWT = `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.${'c2ln'.repeat(11)}`;

let server: RedisServer;
let redis: Redis;
let clients: Clients;
let directory: ClientDirectory;
let guard: SourceGuard;
let now = Date.now();
const tokens = new AccessTokens(
  parseSigningKeys(aSigningKeyText()),
  { issuer: 'https://r', ttlMs: 60_000 },
  randomUUID,
  () => now,
  {
    has: () => false,
    notBeforeS: () => 0,
  },
);

/** Holds back whom the spec says. */
class SpecGuesses extends Guesses {
  held = false;
  misses = 0;
  isHeldBack(): boolean {
    return this.held;
  }
  miss(): Promise<ProblemError | undefined> {
    this.misses += 1;
    return Promise.resolve(this.held ? new ProblemError('too-many-requests', 'Wait.') : undefined);
  }
}
const guesses = new SpecGuesses();

beforeAll(async () => {
  server = await startRedisServer();
  redis = connectRedis({ REDIS_URL: server.url(), REDIS_SENTINELS: [], REDIS_SENTINEL_NAME: '' }, 'command', () => {});
  await redisReady(redis, () => {});
  const keyring = Keyring.parse(`e1:${randomBytes(32).toString('base64')}`);
  const store = new ClientStore(redis, memoryRegistry(redis).of('client'));
  clients = new Clients(store, keyring, randomBytes, Date.now);
  directory = new ClientDirectory(store, keyring);
  guard = new SourceGuard(tokens, directory, guesses);
});
afterAll(async () => {
  redis?.disconnect();
  await server?.stop();
});

const admit = async (headers: Record<string, string>): Promise<Caller> =>
  guard.callerOf({ headers, ip: '198.51.100.7' });
const refusal = async (headers: Record<string, string>): Promise<[string, string | undefined]> => {
  const problem = await admit(headers).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(problem instanceof ProblemError)) throw new Error('It was let in');
  return [problem.code, problem.extra.headers?.['www-authenticate']];
};
const basic = (text: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(text).toString('base64')}`,
});
const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

describe('SourceGuard', () => {
  it('lets in each kind of source, with the partners it is bound to', async () => {
    const partner = await clients.createPartner('P');
    const audience = [partner.clientId];
    const byClient = await clients.createSource('token', { audience });
    const byKey = await clients.createSource('key', { audience, credential: 'apiKey' });
    const byJwt = await clients.createSource('jwt', { audience, credential: { jwt: JWT } });
    const byBasic = await clients.createSource('basic', { audience, credential: { userName: 'relay' } });
    const requests: [string, Record<string, string>][] = [
      [byClient.clientId, bearer(await tokens.issue(byClient.clientId, ['deliveries:write']))],
      [byKey.clientId, { 'x-api-key': 'apiKey' in byKey ? byKey.apiKey : '' }],
      [byJwt.clientId, bearer(JWT)],
      [byBasic.clientId, basic(`relay:${'password' in byBasic ? byBasic.password : ''}`)],
    ];
    for (const [clientId, headers] of requests)
      expect(await admit(headers)).toMatchObject({ clientId, audience, scopes: ['deliveries:write'] });
  });

  it('refuses an unknown credential', async () => {
    const partner = await clients.createPartner('Q');
    const token = await tokens.issue(partner.clientId, ['webhooks']);
    expect(await refusal({})).toEqual(['unauthorized', 'Bearer realm="relay"']);
    expect(await refusal({ 'x-api-key': 'no' })).toEqual(['unauthorized', 'Bearer realm="relay"']);
    expect(await refusal(basic('relay:no'))).toEqual(['unauthorized', 'Basic realm="relay"']);
    expect(await refusal(bearer('a.b.c'))).toEqual(['unauthorized', 'Bearer realm="relay", error="invalid_token"']);
    expect((await refusal(bearer(token)))[0]).toBe('insufficient-scope');
    // A key is no password and no token: each kind is hashed by its name.
    expect((await refusal({ 'x-api-key': JWT }))[0]).toBe('unauthorized');
  });

  it('counts a possible guess, and not an expired token of the relay', async () => {
    const source = await clients.createSource('counted');
    const token = await tokens.issue(source.clientId, ['deliveries:write']);
    const forged = `${token.slice(0, -86)}${'A'.repeat(86)}`;
    for (const [headers, counted] of [
      [{ 'x-api-key': 'no' }, 1],
      [basic('relay:no'), 1],
      [bearer('a.b.c'), 1],
      [bearer(forged), 1],
      [{}, 0],
      [bearer(token), 0],
    ] as const) {
      guesses.misses = 0;
      await admit(headers).catch(() => undefined);
      expect([headers, guesses.misses]).toEqual([headers, counted]);
    }
    now += 3_600_000;
    guesses.misses = 0;
    expect((await refusal(bearer(token)))[0]).toBe('unauthorized');
    expect(guesses.misses).toBe(0);
    now -= 3_600_000;
  });

  it('finds the right credential in a network that is held back, without a question for each wrong one', async () => {
    const early = await clients.createSource('early', { credential: 'apiKey' });
    await directory.refresh();
    guesses.held = true;
    expect((await refusal({ 'x-api-key': 'first' }))[0]).toBe('too-many-requests');
    const asked = async (): Promise<number> =>
      Number(/total_commands_processed:(\d+)/.exec(await redis.info('stats'))?.[1]);
    const before = await asked();
    for (let guess = 0; guess < 500; guess += 1)
      expect((await refusal({ 'x-api-key': `guess-${guess}` }))[0]).toBe('too-many-requests');
    expect((await asked()) - before).toBeLessThan(5);
    // Never seen by this process before.
    expect(await admit({ 'x-api-key': 'apiKey' in early ? early.apiKey : '' })).toMatchObject({
      clientId: early.clientId,
    });
    const late = await clients.createSource('late', { credential: 'apiKey' });
    await directory.refresh();
    expect(await admit({ 'x-api-key': 'apiKey' in late ? late.apiKey : '' })).toMatchObject({
      clientId: late.clientId,
    });
    guesses.held = false;
  });

  it('ends a disabled source at the next refresh', async () => {
    const source = await clients.createSource('ending', { credential: 'apiKey' });
    const headers = { 'x-api-key': 'apiKey' in source ? source.apiKey : '' };
    for (let n = 0; n < 2; n += 1) expect(await admit(headers)).toMatchObject({ clientId: source.clientId });
    // The same text in another header is no credential of the source.
    expect((await refusal(bearer(headers['x-api-key'])))[0]).toBe('unauthorized');
    await clients.disable(source.clientId);
    await directory.refresh();
    expect((await refusal(headers))[0]).toBe('unauthorized');
  });

  it('ends a token that it knows: expired, of an ended secret, or of a disabled source', async () => {
    const source = await clients.createSource('known');
    const token = bearer(await tokens.issue(source.clientId, ['deliveries:write']));
    for (let n = 0; n < 2; n += 1) expect(await admit(token)).toMatchObject({ clientId: source.clientId });
    now += 3_600_000;
    expect((await refusal(token))[0]).toBe('unauthorized');
    now -= 3_600_000;
    await clients.rotateSecret(source.clientId, { endsTokens: true });
    await directory.refresh();
    expect((await refusal(token))[0]).toBe('unauthorized');
    const next = bearer(await tokens.issue(source.clientId, ['deliveries:write'], 2));
    for (let n = 0; n < 2; n += 1) expect(await admit(next)).toMatchObject({ clientId: source.clientId });
    await clients.disable(source.clientId);
    await directory.refresh();
    expect((await refusal(next))[0]).toBe('unauthorized');
  });

  it('asks for no token that it knows where another credential comes first', async () => {
    const source = await clients.createSource('both');
    const token = bearer(await tokens.issue(source.clientId, ['deliveries:write']));
    expect(await admit(token)).toMatchObject({ clientId: source.clientId });
    expect((await refusal({ ...token, 'x-api-key': 'no' }))[0]).toBe('unauthorized');
  });

  it('lets in sources seen before while Redis is away, and never says 401 to others', async () => {
    const seen = await clients.createSource('seen', { credential: { userName: 'seen' } });
    const byToken = await clients.createSource('by token');
    const unseen = await clients.createSource('unseen', { credential: 'apiKey' });
    const token = bearer(await tokens.issue(byToken.clientId, ['deliveries:write']));
    const password = 'password' in seen ? seen.password : '';
    await admit(basic(`seen:${password}`));
    await admit(token);
    // Others changed meanwhile: what is remembered should be read again, and cannot be.
    await clients.createPartner('R');
    await directory.refresh();
    await server.stop();
    await expect(directory.refresh()).rejects.toThrow();
    expect(await admit(basic(`seen:${password}`))).toMatchObject({ clientId: seen.clientId });
    expect(await admit(token)).toMatchObject({ clientId: byToken.clientId });
    expect((await refusal({ 'x-api-key': 'apiKey' in unseen ? unseen.apiKey : '' }))[0]).toBe('unavailable');
    expect((await refusal(bearer('a.b.c')))[0]).toBe('unavailable');
    // What is certainly ours and over needs no store to be refused.
    now += 3_600_000;
    expect((await refusal(token))[0]).toBe('unauthorized');
  });
});
