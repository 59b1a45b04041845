import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { anEnvelope, type Client } from '../../support/client.js';
import { postMany } from '../../support/post-many.js';
import { IS_FULL, size, STORES_BUSY_MS, type Arena, type Attack } from '../arena.js';
import { answered, flood, statuses } from '../caller.js';

const TYPE = 'plan.created';
const PER_PARTNER = 10;
const ENVELOPES = size(50, 10);
const WATCH_MS = size(20_000, 5_000);
/** What an origin that never answered 2xx gets a second from everybody by the one worker; one more at the start. */
const PER_SECOND = 1;

/** Somebody who never asked for anything, and says so. */
async function victim(arena: Arena): Promise<{ url: (n: number) => string; arrivals: () => number }> {
  const urlOf = await arena.receiver.anotherOrigin();
  // Requests are known by their paths alone, so each victim has its own.
  const name = randomUUID();
  const path = (n: number): string => `/victim/${name}/${n}`;
  const known = new Set<number>();
  return {
    url: (n) => {
      known.add(n);
      arena.receiver.plan(path(n), { status: 404 });
      return urlOf(path(n));
    },
    arrivals: () => [...known].reduce((sum, n) => sum + arena.receiver.at(path(n)).length, 0),
  };
}

async function clear(arena: Arena, partners: readonly Client[]): Promise<void> {
  for (const { clientId } of partners) await arena.stack.relay('webhooks', 'delete', '--partner', clientId, '--yes');
}

const aimed: Attack = {
  name: 'two partners aim their webhooks at somebody who never asked',
  run: async (arena, verdict) => {
    const { url, arrivals } = await victim(arena);
    const source = await arena.client('source', 'aiming');
    const partners = await Promise.all(['aiming', 'aiming too'].map((name) => arena.client('partner', name)));
    for (const [p, partner] of partners.entries()) {
      for (let n = 0; n < PER_PARTNER; n += 1)
        await partner.register({ eventType: TYPE, endPointUrl: url(100 * p + n), apiKey: 'k' });
    }
    const since = performance.now();
    for (let n = 0; n < ENVELOPES; n += 1) await source.post(anEnvelope({ type: TYPE }));
    await delay(WATCH_MS);
    const seconds = (performance.now() - since) / 1_000;
    verdict.tell('deliveries due', ENVELOPES * PER_PARTNER * partners.length);
    verdict.atMost('requests that arrived', arrivals(), Math.ceil(seconds * PER_SECOND) + 2);
    verdict.atLeast('requests that arrived', arrivals(), 1);
    await clear(arena, partners);
  },
};

const tests: Attack = {
  name: 'a partner tests all of its webhooks at somebody who never asked',
  run: async (arena, verdict) => {
    const { url, arrivals } = await victim(arena);
    const partner = await arena.client('partner', 'testing');
    const caller = await arena.callerAs(partner);
    const ids: string[] = [];
    for (let n = 0; n < 2 * PER_PARTNER; n += 1)
      ids.push(await partner.register({ eventType: TYPE, endPointUrl: url(n), apiKey: 'k' }));
    const more = await caller.send('POST', '/webhooks', { eventType: TYPE, endPointUrl: url(99), apiKey: 'k' });
    verdict.isTrue('one webhook more at this origin is refused', more.status === 409);
    const since = performance.now();
    const replies = await flood(6 * ids.length, 16, (n) =>
      caller.send('POST', `/webhooks/${ids[n % ids.length]}/test`),
    );
    const seconds = (performance.now() - since) / 1_000;
    verdict.tell('tests', statuses(replies));
    verdict.atMost('requests that arrived', arrivals(), Math.ceil(seconds * PER_SECOND) + 2);
    caller.close();
    await clear(arena, [partner]);
  },
};

const drafts: Attack = {
  name: 'a partner tests addresses without a webhook at somebody who never asked',
  run: async (arena, verdict) => {
    const { url, arrivals } = await victim(arena);
    const partner = await arena.client('partner', 'drafting');
    const caller = await arena.callerAs(partner);
    const replies = await flood(size(600, 120), 16, (n) =>
      caller.send('POST', '/webhooks/test', { eventType: TYPE, endPointUrl: url(n % PER_PARTNER), apiKey: 'k' }),
    );
    verdict.tell('tests', statuses(replies));
    // A minute may end meanwhile.
    verdict.atMost('requests that arrived', arrivals(), 12);
    verdict.atLeast('requests that arrived', arrivals(), 1);
    caller.close();
  },
};

const replays: Attack = {
  name: 'a partner asks again and again what a replay would deliver, orders one and cancels it',
  run: async (arena, verdict) => {
    const partner = await arena.client('partner', 'curious');
    const caller = await arena.callerAs(partner);
    const endPointUrl = arena.receiver.url('/curious');
    const id = await partner.register({ eventType: TYPE, endPointUrl, apiKey: 'k' });
    const connected = arena.kafkaConnections();
    const told = arena.stack.topic('relay.operations');
    const before = await told.count();
    // First, while the quota that all of it shares lasts.
    const orders = await flood(size(200, 50), 1, async () => {
      const order = await caller.send('POST', `/webhooks/${id}/replay`, {});
      if (order.status !== 202) return order;
      const { id: replay } = JSON.parse(order.text) as { id: string };
      await caller.send('DELETE', `/replays/${replay}`);
      return order;
    });
    verdict.tell('orders', statuses(orders));
    verdict.atLeast('orders taken', answered(orders, 202), size(100, 25));
    const replies = await flood(size(2_000, 700), 16, () =>
      caller.send('POST', `/webhooks/${id}/replay`, { dryRun: true }),
    );
    verdict.tell('dry runs', statuses(replies));
    verdict.atLeast('refused', answered([...replies, ...orders], 429), 1);
    verdict.atMost('records of operations', (await told.count()) - before, 1_300);
    // A few for all of them, not one for each.
    verdict.atMost('new connections to Kafka', arena.kafkaConnections() - connected, 20);
    verdict.none(
      'faults',
      replies.filter(({ status }) => status === 0 || status >= 500).map(({ text }) => text),
    );
    caller.close();
    await clear(arena, [partner]);
  },
};

const floods: Attack = {
  name: 'a source sends as many envelopes as the log takes',
  maxWaitMs: STORES_BUSY_MS,
  run: async (arena, verdict) => {
    const source = await arena.client('source', 'talkative');
    const count = size(50_000, 5_000);
    // One after another in batches, and single ones beside them.
    const caller = await arena.callerAs(source);
    const [, replies] = await Promise.all([
      postMany(source, count, 'tax_return.filed'),
      flood(size(5_000, 500), 16, () => caller.send('POST', '/deliveries', anEnvelope({ type: 'tax_return.filed' }))),
    ]);
    verdict.tell('envelopes', statuses(replies));
    verdict.atMost('other answers than 202 and 503', replies.length - answered(replies, 202, 503), 0);
    if (IS_FULL) verdict.atLeast('accepted', answered(replies, 202), 1);
    caller.close();
  },
};

export const deliveries: readonly Attack[] = [aimed, tests, drafts, replays, floods];
