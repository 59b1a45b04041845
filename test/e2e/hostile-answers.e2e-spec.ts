import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { makeCertificates, type Certificates } from '../support/certificates.js';
import { anEnvelope } from '../support/client.js';
import { collectGarbage } from '../support/collect-garbage.js';
import { HostileEndpoints, type HostileEndpoint } from '../support/hostile-endpoints.js';
import { Relay } from '../support/relay.js';
import { until } from '../support/until.js';

const ROUNDS = 5;
/** Envelopes a round. Over all rounds an endpoint fails no more than 10 times: then its breaker would open. */
const EACH = 2;
const DEADLINE_MS = 3_000;

let relay: Relay;
let certificates: Certificates;
let endpoints: HostileEndpoints;
beforeAll(async () => {
  certificates = makeCertificates();
  endpoints = await HostileEndpoints.open(certificates);
  relay = await Relay.start({
    DELIVERY_TIMEOUT: `${DEADLINE_MS}ms`,
    RETRY_SCHEDULE: '1h',
    NODE_EXTRA_CA_CERTS: certificates.trusted,
  });
  await relay.worker.stop();
  relay.worker.start({ nodeOptions: ['--inspect=127.0.0.1:0'] });
  await relay.worker.ready();
});
afterAll(async () => {
  endpoints.close();
  await relay.close();
  certificates.discard();
});

interface Told {
  readonly webhookId: string;
  readonly attempt: number;
  readonly durationMs: number;
  readonly status?: number;
  readonly error?: string;
}
const told = async (): Promise<Told[]> =>
  (await relay.stack.topic('relay.delivery-attempts').read()).map(({ value }) => JSON.parse(value.toString()) as Told);

/** What stays after garbage was collected: V8 looks for it by itself only when it needs room, or after a rest. */
async function keptMiB(): Promise<number> {
  await collectGarbage(relay.worker);
  await setTimeout(500); // freed pages go back to the system beside the program
  return residentMiB();
}
const residentMiB = (): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${relay.worker.pid}/status`, 'utf8'))?.[1]) / 1_024;

describe('an endpoint that answers with malice', () => {
  it('gets a result like any other, in time, and costs the worker neither memory nor life', async () => {
    const [partner, source] = await Promise.all([relay.partner(), relay.source()]);
    const post = async (type: string, count: number): Promise<void> => {
      for (let sent = 0; sent < count; sent += 50) {
        const batch = Array.from({ length: Math.min(50, count - sent) }, () => source.post(anEnvelope({ type })));
        for (const { status } of await Promise.all(batch)) expect(status).toBe(202);
      }
    };
    // Ordinary work first, so that what is measured is not the worker growing warm.
    await partner.register({ eventType: 'plan.created', endPointUrl: relay.receiver.url('/warm'), apiKey: 'k' });
    await post('plan.created', 2_000);
    await until('the ordinary work is done', () => relay.receiver.at('/warm').length >= 2_000);

    const byWebhook = new Map<string, HostileEndpoint>();
    for (const endpoint of endpoints.all) {
      const id = await partner.register({ eventType: 'plan.completed', endPointUrl: endpoint.url, apiKey: 'k' });
      byWebhook.set(id, endpoint);
    }
    const { pid } = relay.worker;
    const seen = async (): Promise<Record<string, (number | string | undefined)[]>> => {
      const results: Record<string, (number | string | undefined)[]> = {};
      for (const { webhookId, status, error } of await told()) {
        const endpoint = byWebhook.get(webhookId);
        if (endpoint !== undefined) (results[endpoint.name] ??= []).push(status ?? error);
      }
      return results;
    };
    const round = async (number: number): Promise<void> => {
      await post('plan.completed', EACH);
      const total = EACH * number * endpoints.all.length;
      const isTold = async (): Promise<boolean> => Object.values(await seen()).flat().length >= total;
      await until(`each attempt of round ${number} is told`, isTold, { seen });
    };

    await round(1); // the first of its kind loads code and lets the heap grow to what such work needs
    const before = await keptMiB();
    let most = before;
    const watch = setInterval(() => (most = Math.max(most, residentMiB())), 20);
    for (let number = 2; number <= ROUNDS; number += 1) await round(number);
    clearInterval(watch);
    const rest = await keptMiB();

    const each = endpoints.all.map(({ name, expected }) => [name, Array(EACH * ROUNDS).fill(expected)]);
    expect(await seen()).toEqual(Object.fromEntries(each));
    expect([relay.worker.isRunning, relay.worker.pid]).toEqual([true, pid]);
    process.stdout.write(
      `worker: ${before.toFixed(0)} MiB, ${(rest - before).toFixed(1)} MiB more after ${ROUNDS - 1} rounds, at most ${(most - before).toFixed(1)} MiB meanwhile\n`,
    );
    expect(rest - before).toBeLessThan(20);
    expect(most - before).toBeLessThan(150); // one body of 1 GB, or one unpacked, would be far above
    // What misbehaved is not kept open either.
    const open = (): string[] => endpoints.all.filter((endpoint) => endpoint.open() > 0).map(({ name }) => name);
    const kept = new Set(['has a good certificate', 'redirects to the metadata service', 'sends a body with 204']);
    await until('no connection is kept that did not end cleanly', () => open().every((name) => kept.has(name)), {
      seen: open,
    });
  });
});
