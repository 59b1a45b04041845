import { size, STORES_BUSY_MS, type Arena, type Attack } from '../arena.js';
import { answered, flood, statuses, type Caller, type Reply } from '../caller.js';
import { MIB } from '../figures.js';
import type { Verdict } from '../verdict.js';

/** Types that no bystander sends. */
const TYPE = 'plan.completed';
const WEBHOOKS = size(1_000, 200);
const LISTS = 16;
/** What a registration may take as a whole, and what its record may be beside it. */
const SEALED_BYTES = 8 * 1_024;

const fatCredential = (characters: number): object => ({
  userName: '😀'.repeat(characters),
  password: '😀'.repeat(characters),
  endPointDesc: '\u0001'.repeat(Math.min(1_000, characters)),
});

/** An origin for each: the relay counts webhooks by origin. */
const endPointUrl = (n: number): string => `http://127.${n >> 16}.${(n >> 8) & 255}.${n & 255}:9/hook`;

/** The fattest registration that the API takes. */
async function fattest(caller: Caller): Promise<object> {
  for (let characters = 4_096; characters > 1; characters >>= 1) {
    const fat = fatCredential(characters);
    const { status } = await caller.send('POST', '/webhooks', { eventType: TYPE, endPointUrl: endPointUrl(1), ...fat });
    if (status === 201) return fat;
  }
  throw new Error('no registration was taken');
}

/** Registers as many as the API lets, one with what `given` says. */
const register = (caller: Caller, count: number, given: object): Promise<readonly Reply[]> =>
  flood(count, 16, (n) =>
    caller.send('POST', '/webhooks', { eventType: TYPE, endPointUrl: endPointUrl(n + 2), ...given }),
  );

async function clear(arena: Arena, partnerId: string): Promise<void> {
  await arena.stack.relay('webhooks', 'delete', '--partner', partnerId, '--yes');
}

/** What the answers of a list may cost Redis: what they say, once more, and some: what everybody else takes meanwhile is an estimate. */
function judgeReads(verdict: Verdict, what: string, replies: readonly Reply[], outBytes: number): void {
  const told = replies.reduce((sum, { text }) => sum + text.length, 0);
  verdict.tell(what, statuses(replies));
  verdict.none(
    `${what} that failed`,
    replies.filter(({ status }) => status === 0 || status >= 500).map(({ status }) => `${status}`),
  );
  verdict.atMost(`${what}: MiB out of Redis`, outBytes / MIB, (2 * told) / MIB + 8);
}

export const registrations: readonly Attack[] = [
  {
    name: `a partner registers ${WEBHOOKS} webhooks as fat as it may, and lists them ${LISTS} times at once`,
    maxWaitMs: STORES_BUSY_MS,
    run: async (arena, verdict) => {
      const partner = await arena.client('partner', 'fat');
      const caller = await arena.callerAs(partner);
      const { usedBytes } = await arena.redis();
      const fat = await fattest(caller);
      const made = await register(caller, WEBHOOKS - 1, fat);
      verdict.tell('registrations', statuses(made));
      const held = (await arena.redis()).usedBytes - usedBytes;
      verdict.atMost('KiB of a webhook', held / 1_024 / (answered(made, 201) + 2), (2 * SEALED_BYTES) / 1_024);
      let replies: readonly Reply[] = [];
      const lists = await arena.redisCost(async () => {
        replies = await flood(size(64, LISTS), LISTS, () => caller.send('GET', '/webhooks'));
      });
      judgeReads(verdict, 'lists', replies, lists.outBytes);
      verdict.atLeast('lists that were answered', answered(replies, 200), 1);
      const byCredential = { userName: 'nobody', password: 'nothing' };
      const stranger = arena.caller();
      const looks = await arena.redisCost(async () => {
        replies = await flood(LISTS, LISTS, () => stranger.send('GET', '/webhooks', byCredential));
      });
      judgeReads(verdict, 'lists by a credential', replies, looks.outBytes);
      const id = '00000000-0000-4000-8000-000000000000';
      const finds = await arena.redisCost(async () => {
        replies = await flood(LISTS, LISTS, () => caller.send('GET', `/deliveries/${id}`));
      });
      judgeReads(verdict, 'looks for an envelope', replies, finds.outBytes);
      for (const path of ['/deliveries?limit=200', '/webhooks/status']) {
        const reads = await arena.redisCost(async () => {
          replies = await flood(LISTS, LISTS, () => caller.send('GET', path));
        });
        judgeReads(verdict, path, replies, reads.outBytes);
      }
      caller.close();
      stranger.close();
      await clear(arena, partner.clientId);
    },
  },
  {
    name: 'a partner has 10,000 deletions refused',
    maxWaitMs: STORES_BUSY_MS,
    run: async (arena, verdict) => {
      const partner = await arena.client('partner', 'ambiguous');
      const caller = await arena.callerAs(partner);
      await register(caller, size(400, 50), { apiKey: 'k' });
      const before = await arena.registryEnd();
      const replies = await flood(size(10_000, 500), 32, () => caller.send('DELETE', '/webhooks', { eventType: TYPE }));
      verdict.tell('deletions', statuses(replies));
      verdict.atMost('records appended', (await arena.registryEnd()) - before, 0);
      verdict.atMost('changed by it', answered(replies, 200, 204), 0);
      caller.close();
      await clear(arena, partner.clientId);
    },
  },
  {
    name: 'a partner changes a webhook without end',
    maxWaitMs: STORES_BUSY_MS,
    run: async (arena, verdict) => {
      const partner = await arena.client('partner', 'restless');
      const caller = await arena.callerAs(partner);
      const given = { eventType: TYPE, endPointUrl: endPointUrl(1), apiKey: 'k', endPointName: 'n' };
      const made = await caller.send('POST', '/webhooks', given);
      const { id } = JSON.parse(made.text) as { id: string };
      const path = `/webhooks/${id}`;
      const unchanged = await arena.registryEnd();
      await flood(size(200, 20), 8, () => caller.send('PATCH', path, { endPointName: 'n' }));
      await flood(size(200, 20), 8, () => caller.send('POST', `${path}/enable`));
      verdict.atMost('records of changes that change nothing', (await arena.registryEnd()) - unchanged, 0);
      const before = await arena.registryEnd();
      const count = size(5_000, 1_500);
      const replies = await flood(count, 32, (n) => caller.send('PATCH', path, { endPointName: `n${n}` }));
      verdict.tell('changes', statuses(replies));
      const appended = (await arena.registryEnd()) - before;
      const budget = budgetOf(replies);
      verdict.isTrue('a budget of changes is told', budget !== undefined);
      // The next window may begin while the attack runs.
      verdict.atMost('records appended', appended, 2 * (budget ?? 0));
      verdict.atLeast('refused by the budget', answered(replies, 429), 1);
      caller.close();
      await clear(arena, partner.clientId);
    },
  },
];

/** `q` of the policy of changes: draft-ietf-httpapi-ratelimit-headers. */
function budgetOf(replies: readonly Reply[]): number | undefined {
  const policies = replies.map(({ headers }) => String(headers['ratelimit-policy'] ?? ''));
  const found = policies.flatMap((policy) => /"[^"]*change[^"]*";q=(\d+)/.exec(policy)?.[1] ?? [])[0];
  return found === undefined ? undefined : Number(found);
}
