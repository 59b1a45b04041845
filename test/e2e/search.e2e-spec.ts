import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deliveryId } from '@relay/delivery';
import type { AttemptRecord } from '@relay/events';
import { App } from '../support/app.js';
import { Operator } from '../support/operator.js';
import { Relay } from '../support/relay.js';
import { until } from '../support/until.js';

const COUNT = 20_000;
const folder = mkdtempSync(join(tmpdir(), 'relay-search-'));
const path = join(folder, 'index.sqlite');

interface Page {
  readonly attempts: readonly (AttemptRecord & { readonly host?: string })[];
  readonly next: string | null;
  readonly since: string | null;
  readonly lag: number;
  readonly incomplete: readonly string[];
}

let relay: Relay;
let operations: App<'operations'>;
let operator: Operator;
let webhookId: string;
const begin = Date.now() - 3_600_000;
beforeAll(async () => {
  relay = await Relay.start();
  const partner = await relay.partner();
  webhookId = await partner.register({
    eventType: 'plan.updated',
    endPointUrl: relay.receiver.url('/search'),
    apiKey: 'key',
  });
  await write(Array.from({ length: COUNT }, (_, n) => anAttempt(n)));
  operations = await App.start('operations', { ...relay.stack.env, SEARCH_INDEX: path });
  operator = await Operator.of(relay.stack, operations);
});
afterAll(async () => {
  await operations.stop();
  await relay.close();
  rmSync(folder, { recursive: true });
});

function anAttempt(n: number, changes: Partial<AttemptRecord> = {}): AttemptRecord {
  const [envelopeId, other] = [randomUUID(), randomUUID()];
  const named = { webhookId: changes.webhookId ?? other, hash: '0123456789abcdef', series: 0, acceptedAt: begin };
  return {
    deliveryId: deliveryId({ ...named, envelopeId }),
    envelopeId,
    webhookId: named.webhookId,
    eventType: 'task.created',
    partnerId: `partner_${n % 50}`,
    at: new Date(begin + n * 10).toISOString(),
    attempt: 1,
    durationMs: 20,
    status: 204,
    outcome: 'delivered',
    final: true,
    ...changes,
  };
}

async function write(attempts: readonly AttemptRecord[]): Promise<void> {
  const producer = relay.stack.kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  const { name: topic } = relay.stack.topic('relay.delivery-attempts');
  for (let from = 0; from < attempts.length; from += 2_000) {
    const messages = attempts
      .slice(from, from + 2_000)
      .map((attempt) => ({ key: attempt.envelopeId, value: JSON.stringify(attempt) }));
    await producer.send({ topic, acks: -1, messages });
  }
  await producer.disconnect();
}

const search = async (query: Record<string, string> = {}): Promise<Page> => {
  const { status, json, text } = await operator.get<Page>(`/attempts?${new URLSearchParams(query).toString()}`);
  if (status !== 200) throw new Error(`${status} ${text}`);
  return json;
};
const isCurrent = async (): Promise<boolean> => (await search({ limit: '1' })).incomplete.length === 0;
async function countOf(query: Record<string, string>): Promise<number> {
  let count = 0;
  for (let page = await search({ limit: '200', ...query }); ;) {
    count += page.attempts.length;
    if (page.next === null) return count;
    page = await search({ limit: '200', ...query, cursor: page.next });
  }
}

describe('the search over attempts', () => {
  it('says that it is behind until it has the log, and then finds given ones by each filter', async () => {
    await until('the index has the log', isCurrent, { seen: () => search({ limit: '1' }) });
    const wanted = anAttempt(COUNT / 2, {
      webhookId,
      partnerId: 'partner_wanted',
      eventType: 'plan.updated',
      status: 503,
      error: 'unexpected',
      outcome: 'dead-letter',
      reason: 'attempts_exhausted',
    });
    await write([wanted]);
    await until('it is found', async () => (await search({ envelope: wanted.envelopeId })).attempts.length === 1);
    const filters = {
      envelope: wanted.envelopeId,
      delivery: wanted.deliveryId,
      webhook: webhookId,
      partner: 'partner_wanted',
      type: 'plan.updated',
      status: '503',
      error: 'unexpected',
      outcome: 'dead-letter',
      host: '127.0.0.1',
    };
    for (const [name, value] of Object.entries({ ...filters, status: '5xx' })) {
      const { attempts } = await search({ [name]: value });
      expect([name, attempts]).toEqual([name, [{ ...wanted, host: '127.0.0.1' }]]);
    }
    const since = new Date(begin + (COUNT / 2) * 10).toISOString();
    const until10 = new Date(begin + (COUNT / 2) * 10 + 10).toISOString();
    expect(await countOf({ since, until: until10 })).toBe(2);
    expect((await search({ ...filters, since })).attempts).toHaveLength(1);
    const { lag, since: from } = await search();
    expect([lag, Date.parse(from ?? '') < begin]).toEqual([0, true]);
  });

  it('names what is wrong in a question', async () => {
    for (const [query, said] of [
      ['webhok=1', 'Unrecognized key: "webhok"'],
      ['status=700', 'status: a status such as 503'],
      ['limit=201', 'limit: '],
      ['cursor=x', 'cursor: '],
      ['delivery=x', 'delivery: the id of a delivery'],
      ['since=yesterday', 'since: '],
    ] as const) {
      const { status, text } = await operator.get(`/attempts?${query}`);
      expect([query, status, text.includes(JSON.stringify(said).slice(1, -1))]).toEqual([query, 400, true]);
    }
  });

  it('has each record once after a kill, and goes on where it was', async () => {
    const before = await countOf({ partner: 'partner_7' });
    await operations.kill();
    await write([anAttempt(COUNT, { partnerId: 'partner_7' })]);
    operations.start();
    await operations.ready();
    await until('the index goes on', async () => (await countOf({ partner: 'partner_7' })) === before + 1);
    expect(operations.log.filter((line) => line.includes('search.rebuilt'))).toEqual([]);
  });

  it('is built anew from Kafka where its file is damaged', async () => {
    const before = await countOf({ partner: 'partner_8' });
    await operations.stop();
    writeFileSync(path, 'this is no database. '.repeat(1_000));
    operations.start();
    await operations.ready();
    await until('the index has all', async () => (await countOf({ partner: 'partner_8' })) === before);
    expect(operations.log.some((line) => line.includes('search.rebuilt'))).toBe(true);
  });

  it('is built anew where the topic was made anew', async () => {
    const { name: topic } = relay.stack.topic('relay.delivery-attempts');
    await operations.stop();
    await relay.worker.stop();
    await relay.stack.admin.deleteTopics({ topics: [topic] });
    await until('it is gone', async () => !(await relay.stack.admin.listTopics()).includes(topic));
    await relay.stack.relay('topics', 'create');
    await write([anAttempt(1, { partnerId: 'partner_new' })]);
    operations.start();
    await operations.ready();
    await until('it has the new log', async () => (await countOf({ partner: 'partner_new' })) === 1);
    expect(await countOf({ partner: 'partner_8' })).toBe(0);
  });
});
