import { randomUUID } from 'node:crypto';
import { anEnvelope, type Client } from '../support/client.js';
import { Receiver, type Answer } from '../support/receiver.js';
import { Relay } from '../support/relay.js';
import { tally } from '../support/tally.js';
import { until } from '../support/until.js';

const HEALTHY = 'task.created';
const NEIGHBOUR = 'plan.updated';
/** Far less than the half minute of an opening, for which siblings must not wait. */
const SOON_MS = 20_000;

let relay: Relay;
let source: Client;
beforeAll(async () => {
  relay = await Relay.start({ DELIVERY_TIMEOUT: '2s' });
  source = await relay.source();
});
afterAll(() => relay.close());

async function post(partner: Client, type: string, count: number): Promise<Set<string>> {
  const envelopes = Array.from({ length: count }, () => anEnvelope({ type }));
  const headers = { 'relay-partner': partner.clientId };
  for (let from = 0; from < count; from += 50) {
    const some = envelopes.slice(from, from + 50).map((envelope) => source.post(envelope, headers));
    for (const { status } of await Promise.all(some)) expect(status).toBe(202);
  }
  return new Set(envelopes.map(({ id }) => id));
}

const isPaused = (log: readonly string[], webhookId: string) => (): boolean =>
  log.some((line) => line.includes('endpoint.paused') && line.includes(webhookId));
const isResting = async (): Promise<boolean> =>
  /relay_endpoints\{[^}]*state="resting"[^}]*\} 1/.test(await relay.worker.metrics());

describe('a webhook of the same partner at the same origin', () => {
  it.each<[string, Answer, number, (webhookId: string, endpoint: Receiver) => () => boolean | Promise<boolean>]>([
    ['fails with 503', { status: 503 }, 30, (id) => isPaused(relay.worker.log, id)],
    ['never answers', 'hang', 30, (id) => isPaused(relay.worker.log, id)],
    ['asks for rest with 429', { status: 429, headers: { 'retry-after': '600' } }, 30, () => isResting],
    ['floods its slow path', { status: 200, delayMs: 1_500 }, 600, (_, to) => () => to.at('/neighbour').length >= 8],
  ])('gets 40 of 40 at once, each by its first attempt, beside one that %s', async (_, answer, count, isBad) => {
    const endpoint = await Receiver.open();
    const partner = await relay.partner(randomUUID());
    const register = (eventType: string, path: string): Promise<string> =>
      partner.register({ eventType, endPointUrl: endpoint.url(path), apiKey: 'key' });
    await register(HEALTHY, '/healthy');
    const neighbour = await register(NEIGHBOUR, '/neighbour');
    const first = await post(partner, HEALTHY, 1);
    await until('the origin has answered 2xx', () => tally(first, endpoint.delivered('/healthy')).lost === 0);

    endpoint.plan('/neighbour', answer);
    await post(partner, NEIGHBOUR, count);
    await until('its sibling is in trouble', isBad(neighbour, endpoint));
    const sent = await post(partner, HEALTHY, 40);
    const received = (): string[] => endpoint.delivered('/healthy').filter((id) => sent.has(id));
    const counts = () => tally(sent, received());
    await until('all are delivered', () => counts().lost === 0, { withinMs: SOON_MS, seen: counts });
    expect(counts()).toEqual({ accepted: 40, received: 40, lost: 0, duplicates: 0 });
    expect(new Set(endpoint.at('/healthy').map(({ headers }) => headers['relay-attempt']))).toEqual(new Set(['1']));
    expect(new Set(endpoint.delivered('/neighbour')).size).toBeLessThan(count);
    await endpoint.close();
  });
});
