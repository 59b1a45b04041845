import { setTimeout as delay } from 'node:timers/promises';
import { anEnvelope, type Client } from '../../support/client.js';
import { tally } from '../../support/tally.js';
import { until } from '../../support/until.js';
import type { Fault } from '../engine/fault.js';
import type { Trial } from '../engine/trial.js';

/** Event types of each request, and the number of requests. The worker is killed after half of them. */
const [AT_ONCE, REQUESTS] = [10, 5];
/** Longer than a worker waits for further changes: each request is followed by a rejoin of its own. */
const EVERY_MS = 5_000;
/** Envelopes a second of the applied types, beside the load. */
const RATE = 50;
const DELIVERED_WITHIN_MS = 60_000;

/** Ids of accepted envelopes, by the path of the endpoint that they are owed to. */
const sent = new WeakMap<Trial, Map<string, Set<string>>>();

/** Applies event types, and registers a webhook for each once the ingress knows it. @returns their names */
async function apply(trial: Trial, request: number): Promise<string[]> {
  const names = Array.from({ length: AT_ONCE }, (_, n) => `applied.type-${request}-${n}`);
  const { OPERATIONS_URL = '', OPERATOR_CLIENT_ID, OPERATOR_CLIENT_SECRET } = await trial.stack.commandEnv();
  const credential = Buffer.from(`${OPERATOR_CLIENT_ID}:${OPERATOR_CLIENT_SECRET}`).toString('base64');
  const answer = await fetch(`${OPERATIONS_URL}/event-types/apply`, {
    method: 'POST',
    headers: { authorization: `Basic ${credential}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      eventTypes: Object.fromEntries(names.map((name) => [name, { schema: { type: 'object' } }])),
    }),
  });
  if (answer.status !== 200) throw new Error(`the types were answered ${answer.status} ${await answer.text()}`);
  for (const eventType of names) {
    const webhook = { eventType, endPointUrl: trial.receiver.url(`/${eventType}`), apiKey: 'key' };
    await until(`the ingress knows ${eventType}`, async () => {
      const { status, text } = await trial.partner.request('POST', '/webhooks', webhook);
      if (status !== 201 && status !== 400) throw new Error(`the webhook was answered ${status} ${text}`);
      return status === 201;
    });
    sent.get(trial)?.set(`/${eventType}`, new Set());
  }
  return names;
}

/** Posts envelopes of the types in turn. @returns a function that ends it once each post is answered */
function postInTurn(trial: Trial, source: Client, types: readonly string[]): () => Promise<unknown> {
  const post = async (type: string): Promise<void> => {
    const envelope = anEnvelope({ id: trial.random.uuid(), type });
    const answer = await source.post(envelope).catch((error: unknown) => ({ status: 0, text: String(error) }));
    if (answer.status === 202) sent.get(trial)?.get(`/${type}`)?.add(envelope.id);
    else trial.load.refused.push(`an envelope of ${type}: ${answer.status} ${answer.text}`);
  };
  const posts: Promise<void>[] = [];
  const each = setInterval(() => {
    const type = types[posts.length % types.length];
    if (type !== undefined) posts.push(post(type));
  }, 1_000 / RATE);
  const end = (): Promise<unknown> => {
    clearInterval(each);
    return Promise.all(posts);
  };
  trial.atEnd(end);
  return end;
}

/** While a worker joins again, another one may get partitions whose attempts still run. */
function interruptedByJoins(trial: Trial): void {
  for (const { log, loggedAt } of trial.workers) {
    let since: number | undefined;
    for (const [index, line] of log.entries()) {
      const at = loggedAt[index] ?? 0;
      if (line.includes('"log.rebalancing"')) since ??= at;
      if (!line.includes('"log.assigned"') || since === undefined) continue;
      trial.interrupted(at, since);
      since = undefined;
    }
  }
}

export const faults: readonly Fault[] = [
  {
    row: 21,
    name: 'types-applied',
    does: `${AT_ONCE * REQUESTS} event types are applied in ${REQUESTS} requests while envelopes of built-in and of applied types run; kill -9 of one of two workers in the middle, started again at once`,
    duplicates: 'running',
    recoversWithinMs: 35_000,
    workers: 2,
    rate: 200 - RATE,
    run: async (trial) => {
      const [types, ids] = [[] as string[], new Map<string, Set<string>>()];
      sent.set(trial, ids);
      const end = postInTurn(trial, await trial.client('source', 'applied'), types);
      let killed: Promise<void> | undefined;
      for (let request = 0; request < REQUESTS; request += 1) {
        types.push(...(await apply(trial, request)));
        await trial.anyMoment(0, EVERY_MS);
        if (request === Math.floor(REQUESTS / 2)) killed = trial.kill(trial.worker);
        killed?.catch(() => undefined);
        await delay(EVERY_MS);
      }
      await killed;
      await until('an envelope of each type is accepted', () => [...ids.values()].every(({ size }) => size > 0));
      await end();
      interruptedByJoins(trial);
    },
    check: async (trial) => {
      const ids = [...(sent.get(trial) ?? [])];
      const lost = (): number =>
        ids.reduce((sum, [path, own]) => sum + tally(own, trial.receiver.delivered(path)).lost, 0);
      await until('all are delivered', () => lost() === 0, { withinMs: DELIVERED_WITHIN_MS }).catch(() => undefined);
      return lost() === 0 ? [] : [`${lost()} envelopes of applied types were not delivered`];
    },
  },
];
