import { randomUUID } from 'node:crypto';
import { call, Client } from '../../support/client.js';
import { until } from '../../support/until.js';
import { size, type Arena, type Attack } from '../arena.js';
import { answered, flood, statuses, type Reply } from '../caller.js';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const basicOf = ({ clientId, clientSecret }: Client): string =>
  `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
const tokenIn = ({ text }: Reply): string => (JSON.parse(text) as { access_token: string }).access_token;

/** What the API says to a token: it is asked for something that changes nothing. */
const answerTo = async (arena: Arena, token: string): Promise<number> =>
  (await call('GET', `${arena.ingress.url}/webhooks`, { headers: { authorization: `Bearer ${token}` } })).status;

const isRefused = (arena: Arena, token: string): Promise<boolean> =>
  until('the token is refused', async () => (await answerTo(arena, token)) === 401, { withinMs: 10_000 }).then(
    () => true,
    () => false,
  );

const guessing: Attack = {
  name: 'nobody guesses keys of sources and secrets of partners',
  run: async (arena, verdict) => {
    const count = size(5_000, 1_000);
    const made = (await arena.stack.client('source', 'keyed', '--api-key')) as {
      apiKey: string;
    };
    const stranger = arena.caller();
    const task = { id: randomUUID(), userId: randomUUID(), financialPlanId: randomUUID() };
    const post = (key: string): Promise<Reply> =>
      stranger.send(
        'POST',
        '/deliveries',
        { id: randomUUID(), type: 'task.created', payload: task },
        { 'x-api-key': key },
      );
    let replies: readonly Reply[] = [];
    const { commands } = await arena.redisCost(async () => {
      replies = await flood(count, 32, (n) => post(`relay_sk_${n}_${randomUUID()}`));
    });
    verdict.tell('guesses', statuses(replies));
    verdict.atMost('guesses that were looked at', answered(replies, 401), count / 4);
    verdict.tell('commands of Redis', commands);
    const secrets = await flood(count, 32, (n) => {
      const wrong = Buffer.from(`partner_${n}:${randomUUID()}`).toString('base64');
      return stranger.send('POST', '/auth/token', undefined, { authorization: `Basic ${wrong}` });
    });
    verdict.tell('guesses of secrets', statuses(secrets));
    verdict.atMost('secrets that were looked at', answered(secrets, 401), count / 4);
    verdict.atMost("the right key's answer from the same network", (await post(made.apiKey)).status, 202);
    stranger.close();
  },
};

const sessions: Attack = {
  name: 'a partner opens sessions without end',
  run: async (arena, verdict) => {
    const partner = await arena.client('partner', 'sociable');
    const caller = await arena.callerAs(partner);
    const open = (userId: string): Promise<Reply> => caller.send('POST', `/auth/${userId}/session`);
    const user = randomUUID();
    const ofOne = await flood(size(1_000, 300), 16, () => open(user));
    verdict.tell('of one user', statuses(ofOne));
    const ids = ofOne.flatMap(({ status, text }) =>
      status === 201 ? [(JSON.parse(text) as { sessionId: string }).sessionId] : [],
    );
    const looks = await flood(ids.length, 16, (n) => caller.send('GET', `/auth/session/${ids[n]}`));
    verdict.atMost('sessions of one user at once', answered(looks, 200), 10);
    const replies = await flood(size(20_000, 2_000), 32, () => open(randomUUID()));
    verdict.tell('of many users', statuses(replies));
    verdict.atLeast('sessions refused', answered(replies, 429), 1);
    caller.close();
  },
};

const tokens: Attack = {
  name: 'a client fetches and revokes tokens without end',
  run: async (arena, verdict) => {
    const count = size(5_000, 300);
    const source = await arena.client('source', 'forgetful');
    const caller = arena.caller({ authorization: basicOf(source) });
    const entries = (): Promise<number> => arena.stack.redis.xlen('{relay:0}:tokens:revoked');
    const before = await entries();
    const fetched = await flood(count, 16, () => caller.send('POST', '/auth/token'));
    verdict.tell('tokens', statuses(fetched));
    verdict.atMost('tokens issued', answered(fetched, 200), count / 2);
    const issued = fetched.filter(({ status }) => status === 200).map(tokenIn);
    const ask = (path: string, token: string): Promise<Reply> => caller.send('POST', path, `token=${token}`, FORM);
    const revoked = await flood(count, 16, (n) => ask('/auth/revoke', issued[n % issued.length] ?? ''));
    verdict.tell('revocations', statuses(revoked));
    verdict.atMost('revocations remembered', (await entries()) - before, count / 2);
    verdict.atLeast('revocations refused', answered(revoked, 429), count / 2);
    const looks = await flood(count, 16, (n) => ask('/auth/introspect', issued[n % issued.length] ?? ''));
    verdict.tell('introspections', statuses(looks));
    verdict.atLeast('introspections refused', answered(looks, 429), count / 2);
    caller.close();
  },
};

const thief: Attack = {
  name: 'a thief keeps a token of a secret that was rotated away',
  run: async (arena, verdict) => {
    const run = (...args: string[]): Promise<unknown> => arena.stack.relay(...args);
    const [once, twice] = [await arena.client('partner', 'robbed'), await arena.client('partner', 'robbed twice')];
    const [held, kept] = [await once.token(), await twice.token()];
    await run('partners', 'rotate', twice.clientId);
    verdict.isTrue('one rotation alone ends nothing', (await answerTo(arena, kept)) === 200);
    await run('partners', 'rotate', twice.clientId, '--force');
    verdict.isTrue('the second rotation ends the tokens', await isRefused(arena, kept));
    const { clientSecret } = (await run('partners', 'rotate', once.clientId, '--end-tokens')) as Record<string, string>;
    verdict.isTrue('rotate --end-tokens ends the tokens', await isRefused(arena, held));
    const partner = new Client(arena.ingress.url, once.clientId, clientSecret ?? '');
    verdict.isTrue('it goes on with the new secret', (await partner.request('GET', '/webhooks')).status === 200);
    await run('partners', 'disable', once.clientId);
    verdict.isTrue('a disabled partner is out', await isRefused(arena, await partner.token()));
    await run('partners', 'enable', once.clientId);
    partner.forgetToken();
    const isBack = async (): Promise<boolean> =>
      partner.token().then(
        () => true,
        () => (partner.forgetToken(), false),
      );
    await until('an enabled partner is back', isBack, { withinMs: 10_000 });
  },
};

export const credentials: readonly Attack[] = [guessing, sessions, tokens, thief];
