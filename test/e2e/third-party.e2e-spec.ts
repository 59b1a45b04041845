import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { App } from '../support/app.js';
import { anEnvelope, type Client } from '../support/client.js';
import { Relay } from '../support/relay.js';
import { tally } from '../support/tally.js';
import { until } from '../support/until.js';

const PARTNERS = 3;
const WEBHOOKS_EACH = 20;
const ENVELOPES = 5;
const WORKERS = 2;
const DELIVERIES = PARTNERS * WEBHOOKS_EACH * ENVELOPES;

/** Somebody who never asked for any of it, or a new endpoint: counts what comes, and how much of it at once. */
class Host {
  status = 404;
  takesMs = 50;
  /** Requests whose paths begin so are never answered. */
  hangs = '/never';
  /** When each request came, and which webhook and envelope it was of. */
  readonly arrivals: { readonly at: number; readonly id: string; readonly status: number }[] = [];
  running = 0;
  mostAtOnce = 0;

  private constructor(private readonly server: Server) {}

  static async open(): Promise<Host> {
    const server = createServer((request, response) => void host.#answer(`${request.url}`, request.headers, response));
    const host = new Host(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return host;
  }

  url(path: string): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}${path}`;
  }

  answered2xx(): string[] {
    return this.arrivals.filter(({ status }) => status < 300).map(({ id }) => id);
  }

  async #answer(path: string, headers: NodeJS.Dict<string | string[]>, response: import('node:http').ServerResponse) {
    this.running += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.running);
    const { status } = this;
    this.arrivals.push({ at: performance.now(), id: `${path} ${String(headers['webhook-id'])}`, status });
    if (path.startsWith(this.hangs)) return;
    await delay(this.takesMs);
    this.running -= 1;
    response.writeHead(status).end();
  }

  async close(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }
}

let relay: Relay;
let second: App;
let source: Client;
beforeAll(async () => {
  // What failed waits for longer than the test takes, and so does what hangs.
  relay = await Relay.start({ RETRY_SCHEDULE: '1h,1h', DELIVERY_TIMEOUT: '5m' });
  [second, source] = await Promise.all([App.start('worker', relay.stack.env), relay.source()]);
});
afterAll(async () => {
  await second.stop();
  await relay.close();
});

async function post(count: number, type: string, headers: Record<string, string> = {}): Promise<string[]> {
  const envelopes = Array.from({ length: count }, () => anEnvelope({ type }));
  for (const { status } of await Promise.all(envelopes.map((envelope) => source.post(envelope, headers))))
    expect(status).toBe(202);
  return envelopes.map(({ id }) => id);
}

describe('an origin that has never answered 2xx', () => {
  it('gets one attempt a second from each worker over all partners and webhooks, and everything after its first 2xx', async () => {
    const victim = await Host.open();
    const type = 'plan.updated';
    const partners = await Promise.all(Array.from({ length: PARTNERS }, (_, n) => relay.partner(`partner-${n}`)));
    const registered = await Promise.all(
      partners.flatMap((partner, n) =>
        Array.from({ length: WEBHOOKS_EACH }, async (_, w) => ({
          partner,
          path: `/${n}/${w}`,
          id: await partner.register({ eventType: type, endPointUrl: victim.url(`/${n}/${w}`), apiKey: `k${n}-${w}` }),
        })),
      ),
    );
    await partners[0]?.register({ eventType: type, endPointUrl: relay.receiver.url('/well'), apiKey: 'well' });
    const beganAt = performance.now();
    const sent = new Set(await post(ENVELOPES, type));
    await until('somebody else gets all of it', () => tally(sent, relay.receiver.delivered('/well')).lost === 0);

    const waiting = async (): Promise<number> => {
      const counts = registered.map(async ({ partner, id }) =>
        Number((await partner.request('GET', `/webhooks/${id}`)).json['waiting']),
      );
      return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
    };
    await until('each delivery waits visibly', async () => (await waiting()) === DELIVERIES, { seen: waiting });
    // Not those of one partner alone: their endpoints take turns.
    const partnersTried = (): number => new Set(victim.arrivals.map(({ id }) => id.slice(0, 2))).size;
    await until('some of each partner were tried', () => victim.arrivals.length >= 6 && partnersTried() === PARTNERS);
    const seconds = (performance.now() - beganAt) / 1_000;
    expect(victim.arrivals.length).toBeLessThanOrEqual(WORKERS * (seconds + 1));
    const before = victim.mostAtOnce;
    const states = (await Promise.all([relay.worker.metrics(), second.metrics()])).join('\n');
    expect(states).toMatch(/relay_endpoints\{[^}]*state="unproven"[^}]*\} [1-3]/);

    victim.status = 204;
    const all = new Set(registered.flatMap(({ path }) => [...sent].map((id) => `${path} ${id}`)));
    // One that was on its way has failed as well, and is due in an hour.
    const failures = () => new Set(victim.arrivals.filter(({ status }) => status === 404).map(({ id }) => id));
    const rest = () => new Set([...all].filter((id) => !failures().has(id)));
    const counts = () => tally(rest(), victim.answered2xx());
    await until('the rest of it comes, which one a second would not have', () => counts().lost === 0, { seen: counts });
    expect(counts().duplicates).toBe(0);
    expect(victim.mostAtOnce).toBeGreaterThan(before);
    // A worker that was slow to note a delivery has it due at once, although another one has tried it meanwhile.
    const unanswered = () => tally(failures(), victim.answered2xx()).lost;
    const open = async () => ({ waiting: await waiting(), unanswered: unanswered() });
    await until('only what failed waits still', async () => (await waiting()) === unanswered(), { seen: open });
    await victim.close();
  });
});

describe('a new endpoint', () => {
  it('gets its first attempt while webhooks of other partners hang at its origin', async () => {
    const host = await Host.open();
    host.hangs = '/hostile';
    const type = 'plan.created';
    const hostile = await Promise.all(Array.from({ length: PARTNERS }, (_, n) => relay.partner(`hostile-${n}`)));
    for (const [n, partner] of hostile.entries()) {
      await partner.register({ eventType: type, endPointUrl: host.url(`/hostile/${n}`), apiKey: 'k' });
      await post(20, type, { 'relay-partner': partner.clientId });
    }
    await until('an attempt hangs', () => host.running > 0, { seen: () => host.arrivals });
    const fresh = await relay.partner('fresh');
    await fresh.register({ eventType: type, endPointUrl: host.url('/fresh'), apiKey: 'k' });
    await post(1, type, { 'relay-partner': fresh.clientId });
    const isTried = (): boolean => host.arrivals.some(({ id }) => id.startsWith('/fresh'));
    await until('the new endpoint is tried', isTried, { seen: () => host.arrivals });
    await host.close();
  });
});

describe('a new endpoint that works', () => {
  it('gets what came for it at once, not one a second', async () => {
    const endpoint = await Host.open();
    Object.assign(endpoint, { status: 204, takesMs: 1 });
    const type = 'plan.created';
    const partner = await relay.partner('new');
    const webhookId = await partner.register({ eventType: type, endPointUrl: endpoint.url('/new'), apiKey: 'k' });
    const sent = new Set<string>();
    while (sent.size < 1_000) for (const id of await post(100, type)) sent.add(`/new ${id}`);
    const counts = () => tally(sent, endpoint.answered2xx());
    const left = async () => [
      counts(),
      (await partner.request('GET', `/webhooks/${webhookId}/deliveries?status=waiting`)).json,
    ];
    await until('it has all of it', () => counts().lost === 0, { seen: left });
    expect(counts().duplicates).toBe(0);
    await endpoint.close();
  });

  it('is tested once and known to work by that', async () => {
    const endpoint = await Host.open();
    Object.assign(endpoint, { status: 204 });
    const partner = await relay.partner('tested');
    const id = await partner.register({ eventType: 'plan.created', endPointUrl: endpoint.url('/t'), apiKey: 'k' });
    expect((await partner.request('POST', `/webhooks/${id}/test`)).json).toMatchObject({ delivered: true });
    expect(await relay.stack.redis.zcard('{relay:0}:proven')).toBeGreaterThan(0);
    endpoint.status = 404;
    await post(20, 'plan.created');
    await until('more than one is tried at once', () => endpoint.mostAtOnce > 1);
    await endpoint.close();
  });
});
