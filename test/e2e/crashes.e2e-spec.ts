import { jest } from '@jest/globals';
import type { Client } from '../support/client.js';
import { send } from '../support/load.js';
import { Relay } from '../support/relay.js';
import { print, tally, type Tally } from '../support/tally.js';
import { until } from '../support/until.js';

jest.setTimeout(120_000);

const COUNT = 5_000;
const ENDPOINT_CONCURRENCY = 64;
/** One flush is due every 20 ms; what had arrived within this before a kill may not have been marked yet. */
const UNMARKED_MS = 100;

let relay: Relay;
let partner: Client;
let source: Client;
beforeAll(async () => {
  relay = await Relay.start({
    ENDPOINT_CONCURRENCY: String(ENDPOINT_CONCURRENCY),
    RETRY_SCHEDULE: Array.from({ length: 10 }, () => '1s').join(','),
  });
  [partner, source] = await Promise.all([relay.partner(), relay.source()]);
});
afterAll(() => relay.close());

/** Kills a role at a third of the load and starts it again; returns the counts once the endpoint has everything. */
async function killed(role: 'ingress' | 'worker', path: string): Promise<Tally & { unmarked: number }> {
  const app = relay[role];
  const id = await partner.register({ eventType: 'task.created', endPointUrl: relay.receiver.url(path), apiKey: 'k' });
  // Every third request fails, and all take a while: what runs at the kill is lost if it was settled too early.
  relay.receiver.plan(
    path,
    ...Array.from({ length: COUNT }, (_, n) => ({ status: n % 3 === 0 ? 500 : 204, delayMs: 20 })),
  );
  let restart: Promise<void> | undefined;
  let killedAt = 0;
  const sent = await send(source, COUNT, (accepted) => {
    if (accepted < COUNT / 3 || restart !== undefined) return;
    killedAt = performance.now();
    restart = app.kill().then(() => app.start());
  });
  await restart;
  const counts = () => tally(sent.accepted, relay.receiver.delivered(path));
  await until('every accepted envelope is delivered', () => counts().lost === 0, { withinMs: 60_000, seen: counts });
  const received = relay.receiver.at(path);
  const recoveredMs = Math.round(Math.max(...received.map(({ at }) => at)) - killedAt);
  const unmarked = received.filter(({ at }) => at > killedAt - UNMARKED_MS && at <= killedAt).length;
  print(`kill -9 of the ${role}`, { ...counts(), unmarked, repeatedBySource: sent.repeated, recoveredMs });
  await partner.request('DELETE', '/webhooks', { eventType: 'task.created', id });
  return { ...counts(), unmarked };
}

describe('an accepted envelope', () => {
  it('is delivered although the worker is killed in the middle of it', async () => {
    const { duplicates, unmarked, ...counts } = await killed('worker', '/worker-killed');
    expect(counts).toEqual({ accepted: COUNT, received: COUNT, lost: 0 });
    expect(duplicates).toBeLessThanOrEqual(ENDPOINT_CONCURRENCY + unmarked);
  });

  it('is delivered once although the ingress is killed in the middle of it', async () => {
    const counts = await killed('ingress', '/ingress-killed');
    expect(counts).toMatchObject({ accepted: COUNT, lost: 0, duplicates: 0 });
  });
});
