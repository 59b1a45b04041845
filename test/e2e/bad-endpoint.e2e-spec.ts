import { setTimeout as delay } from 'node:timers/promises';
import { anEnvelope, type Client } from '../support/client.js';
import { Receiver, type Received } from '../support/receiver.js';
import { Relay } from '../support/relay.js';
import { tally } from '../support/tally.js';
import { until } from '../support/until.js';

let relay: Relay;
let source: Client;
beforeAll(async () => {
  // More attempts than a breaker lets fail: one delivery may have most of them, and none is to become a dead letter.
  relay = await Relay.start({ RETRY_SCHEDULE: Array.from({ length: 60 }, () => '100ms').join() });
  source = await relay.source();
});
afterAll(() => relay.close());

const webhook = (partner: Client, endpoint: Receiver, path: string, eventType = 'plan.updated'): Promise<string> =>
  partner.register({ eventType, endPointUrl: endpoint.url(path), apiKey: 'key' });

async function post(count: number, type = 'plan.updated'): Promise<Set<string>> {
  const envelopes = Array.from({ length: count }, () => anEnvelope({ type }));
  for (const { status } of await Promise.all(envelopes.map((envelope) => source.post(envelope))))
    expect(status).toBe(202);
  return new Set(envelopes.map(({ id }) => id));
}
const numberOf = ({ headers }: Received): number => Number(headers['relay-attempt']);

describe('a webhook that asks for rest', () => {
  it('gets nothing until then, while its sibling at the same host is served at once', async () => {
    const endpoint = await Receiver.open();
    const partner = await relay.partner('resting');
    await webhook(partner, endpoint, '/rests');
    await webhook(partner, endpoint, '/sibling', 'plan.created');
    endpoint.plan('/rests', { status: 429, headers: { 'retry-after': '10' } }, { status: 204 });
    const first = await post(1);
    const [refused] = await until(
      'the first is refused',
      () => endpoint.at('/rests').length === 1 && endpoint.at('/rests'),
    );
    const restedUntil = (refused?.at ?? 0) + 10_000;
    // What is sent before the answer was read cannot know of it.
    const isResting = async () => /relay_endpoints\{[^}]*state="resting"[^}]*\} 1/.test(await relay.worker.metrics());
    await until('the worker knows that it rests', isResting);

    const [later, ofSibling] = [await post(20), await post(20, 'plan.created')];
    await until('the sibling has its own', () => tally(ofSibling, endpoint.delivered('/sibling')).lost === 0);
    expect(performance.now()).toBeLessThan(restedUntil);
    const counts = () => tally(new Set([...first, ...later]), endpoint.delivered('/rests'));
    await until('the others are delivered', () => counts().lost === 0, { withinMs: 30_000, seen: counts });
    const [, ...after] = endpoint.at('/rests');
    expect(after.filter(({ at }) => at < restedUntil - 5)).toEqual([]);
    // None of the twenty was attempted meanwhile, so each is at its first attempt.
    const numbers = after.filter(({ headers }) => later.has(String(headers['webhook-id']))).map(numberOf);
    expect(new Set(numbers)).toEqual(new Set([1]));
    await endpoint.close();
  });
});

describe('an endpoint that fails every time', () => {
  it('is left alone after about ten failures, tried once after 30 s, and then gets everything', async () => {
    const endpoint = await Receiver.open();
    await webhook(await relay.partner('failing'), endpoint, '/fails', 'tax_return.filed');
    endpoint.plan('/fails', { status: 500 });
    const sent = await post(20, 'tax_return.filed');
    await until('its breaker opens', () => relay.worker.log.some((line) => line.includes('endpoint.paused')));
    const attempts = () => endpoint.at('/fails');
    const openedAt = performance.now();
    await delay(1_000); // what ran ends, and each that waits looks once
    const before = attempts().length;
    // Eight at once at first, fewer with each failure; the workers tell each other twice a second.
    expect(before).toBeLessThanOrEqual(60);

    endpoint.plan('/fails', { status: 204 });
    const more = await post(5, 'tax_return.filed');
    const probe = await until('it is tried again', () => attempts()[before], { withinMs: 60_000 });
    expect(probe.at - openedAt).toBeGreaterThanOrEqual(28_000);
    const all = new Set([...sent, ...more]);
    const counts = () => tally(all, endpoint.delivered('/fails'));
    await until('everything is delivered', () => counts().lost === 0, { withinMs: 60_000, seen: counts });
    expect(counts()).toMatchObject({ accepted: 25, lost: 0, duplicates: 0 });
    // What waited kept its place in the schedule: the numbers of each delivery's attempts have no gap.
    for (const id of all) {
      const numbers = attempts()
        .filter(({ headers }) => headers['webhook-id'] === id)
        .map(numberOf);
      expect(numbers).toEqual(numbers.map((_, index) => index + 1));
    }
    await endpoint.close();
  });
});
