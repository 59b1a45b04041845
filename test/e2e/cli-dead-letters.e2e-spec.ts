import { randomUUID } from 'node:crypto';
import type { DeadLetter } from '@relay/dead-letters';
import { deliveryId } from '@relay/delivery';
import { NO_WEBHOOK } from '@relay/jobs';
import { BullmqRetryQueue } from '@relay/retry';
import { anEnvelope } from '../support/client.js';
import { CommandLine } from '../support/command-line.js';
import { Relay } from '../support/relay.js';
import { TopicContract } from '../support/topic-contract.js';
import { until } from '../support/until.js';

/** Longer than any look takes; the partner's retry ends it. */
const WAIT_MS = 3_600_000;

let relay: Relay;
let cli: CommandLine;
let operator: string;
beforeAll(async () => {
  relay = await Relay.start({ RETRY_SCHEDULE: `${WAIT_MS}ms,200ms` });
  const env = await relay.stack.commandEnv();
  cli = new CommandLine(env);
  operator = env['OPERATOR_CLIENT_ID'] ?? '';
});
afterAll(() => relay.close());

describe('relay deliveries get and relay dead-letters', () => {
  interface Story {
    readonly mark: string | null;
    readonly deliveries: readonly {
      state: string;
      series: number;
      nextAttemptAt: string | null;
      attempts: { outcome: string | null }[];
    }[];
  }
  const story = (id: string): Promise<Story> => cli.json<Story>(['deliveries', 'get', id]);
  /** An attempt is in the log of attempts a moment after Redis knows of it. */
  const isLogged = ({ attempts }: Story['deliveries'][number]): boolean =>
    attempts.every(({ outcome }) => outcome !== null);
  const states = async (id: string): Promise<string[]> => (await story(id)).deliveries.map(({ state }) => state);

  it('tell an envelope from its first attempt to the replay of its dead letter, and its purge', async () => {
    const [partner, source] = [await relay.partner(), await relay.source()];
    relay.receiver.plan('/story', { status: 500 });
    const endPointUrl = relay.receiver.url('/story');
    const webhook = await partner.register({ eventType: 'task.updated', endPointUrl, apiKey: 'key' });
    const envelope = anEnvelope({ type: 'task.updated' });
    await source.post(envelope);
    const waiting = await until('it waits after its first attempt', async () => {
      const told = await story(envelope.id);
      const [found] = told.deliveries;
      return found?.state === 'waiting' && found.attempts.length === 1 && isLogged(found) ? told : undefined;
    });
    const [delivery] = waiting.deliveries;
    expect(delivery).toMatchObject({ webhookId: webhook, attempts: [{ attempt: 1, status: 500 }] });
    const waitMs =
      Date.parse(delivery?.nextAttemptAt ?? '') - Date.parse(String(Reflect.get(delivery?.attempts[0] ?? {}, 'at')));
    expect(waitMs).toBeGreaterThanOrEqual(WAIT_MS - 10);
    expect(waitMs).toBeLessThan(2 * WAIT_MS);

    const retry = async () =>
      expect((await partner.request('POST', `/deliveries/${envelope.id}/retry`)).status).toBe(202);
    await retry();
    const dead = await until('it is a dead letter', async () => {
      const told = await story(envelope.id);
      const [found] = told.deliveries;
      return found?.attempts.length === 3 && isLogged(found) ? told : undefined;
    });
    expect(dead.deliveries.map(({ state }) => state)).toEqual(['dead-letter']);
    expect(dead.deliveries[0]?.attempts.map(({ outcome }) => outcome)).toEqual(['retry', 'retry', 'dead-letter']);
    expect(dead.mark).toBe('settled');

    expect(await cli.json(['dead-letters', 'replay', envelope.id])).toMatchObject({ replayed: 1, deliveries: 1 });
    await until('it waits after its fourth attempt', async () => {
      const again = (await story(envelope.id)).deliveries[1];
      return again?.state === 'waiting' && again.attempts.length === 1;
    });
    await retry();
    await until('it died again', async () => (await states(envelope.id)).join() === 'replayed,dead-letter');
    const again = await cli.run([
      'dead-letters',
      'purge',
      '--webhook',
      webhook,
      '--reason',
      'attempts_exhausted',
      '--yes',
    ]);
    expect(again).toMatchObject({ code: 0, out: '1 dead letter purged\n', err: '' });
    await until('both ends are told', async () => (await states(envelope.id)).join() === 'replayed,purged');
    expect(await cli.json(['dead-letters', 'list', '--webhook', webhook])).toEqual([]);
    expect(await cli.run(['dead-letters', 'replay', envelope.id])).toMatchObject({
      code: 1,
      out: expect.stringContaining(`not found ${envelope.id}`),
    });
  });

  it('leave no consumer group behind', async () => {
    const { groups } = await relay.stack.admin.listGroups();
    const ours = groups
      .map(({ groupId }) => groupId)
      .filter((id) => id.startsWith(`${relay.stack.env['KAFKA_CONSUMER_GROUP']}-cli`));
    expect(ours).toEqual([]);
  });

  it('say that an envelope is unknown', async () => {
    const { code, out } = await cli.run(['deliveries', 'get', randomUUID()]);
    expect([code, out]).toEqual([1, expect.stringContaining('Nothing is known of the envelope')]);
  });

  it('refuse to replay an id used with other content, and replay what could not be handled to every match', async () => {
    const source = await relay.source();
    const partners = [await relay.partner('one'), await relay.partner('two'), await relay.partner('three')];
    for (const [index, partner] of partners.entries())
      await partner.register({
        eventType: 'tax_return.updated',
        endPointUrl: relay.receiver.url(`/match/${index}`),
        apiKey: 'key',
      });

    const first = anEnvelope({ type: 'task.deleted' });
    expect(await source.post(first)).toMatchObject({ status: 202 });
    await until('it is settled', async () => (await story(first.id)).mark === 'settled');
    await relay.stack
      .topic('task.deleted')
      .write({ value: JSON.stringify({ ...first, payload: { ...first.payload, x: 1 } }) });
    const [conflict] = await until('the other content is a dead letter', async () => {
      const found = await cli.json<{ id: string }[]>(['dead-letters', 'list', '--reason', 'id_conflict']);
      return found.length > 0 ? found : undefined;
    });
    expect(await cli.run(['deliveries', 'get', first.id])).toMatchObject({
      out: expect.stringContaining('id_conflict'),
    });
    const refused = await cli.run(['dead-letters', 'replay', conflict?.id ?? '']);
    expect(refused).toMatchObject({ code: 1, out: expect.stringContaining('send this content under a new id') });

    const letter = await buried(partners.slice(0, 2).map(({ clientId }) => clientId));
    const report = await cli.json(['dead-letters', 'replay', '--reason', 'handling_failed']);
    expect(report).toEqual({ replayed: 1, deliveries: 2, refused: [], refusedCount: 0, missing: [], complete: true });
    await until('both have it', () => [0, 1].every((index) => relay.receiver.at(`/match/${index}`).length === 1));
    expect(relay.receiver.at('/match/2')).toEqual([]);
    expect(relay.receiver.at('/match/0')[0]?.body.toString()).toBe(letter.body);
  });

  it('tell on relay.operations what they are asked and what came of it', async () => {
    const letter = await buried(['nobody']);
    const { envelopeId, eventType } = letter;
    expect(await cli.run(['dead-letters', 'replay', envelopeId])).toMatchObject({ code: 1 });
    expect(await cli.run(['dead-letters', 'purge', '--type', eventType, '--yes'])).toMatchObject({ code: 0 });
    const topic = relay.stack.topic('relay.operations');
    const records = await topic.read();
    const told = records.map(({ value }) => JSON.parse(value.toString()) as Record<string, unknown>);
    const ours = told.filter((record) => record['operator'] === operator).slice(-4);
    const refused = [{ id: deliveryId(letter), why: expect.stringContaining('no webhook matches') }];
    const about = { at: expect.any(String), operator, requestId: expect.any(String) };
    expect(ours).toEqual([
      { ...about, event: 'dead-letters.replay.asked', ids: [envelopeId] },
      {
        ...about,
        event: 'dead-letters.replay.done',
        replayed: 0,
        deliveries: 0,
        refused,
        refusedCount: 1,
        missing: [],
        complete: true,
      },
      { ...about, event: 'dead-letters.purge.asked', type: eventType },
      { ...about, event: 'dead-letters.purge.done', purged: 1, missing: [], complete: true },
    ]);
    expect((await TopicContract.read(relay.ingress.url)).faults(topic.name, records)).toEqual([]);
  });

  it.each([
    ['replay', []],
    ['purge', ['--yes']],
  ])('change nothing by %s while Kafka does not take what is told', async (what, options) => {
    const [partner, endPointUrl] = [await relay.partner(what), relay.receiver.url(`/untold/${what}`)];
    await partner.register({ eventType: 'tax_return.updated', endPointUrl, apiKey: 'key' });
    const { envelopeId } = await buried([partner.clientId]);
    await relay.stack.dropTopics(relay.stack.topic('relay.operations').name);
    try {
      const { code, err } = await cli.run(['dead-letters', what, envelopeId, ...options]);
      expect([code, err]).toEqual([1, expect.stringContaining('nothing was changed')]);
    } finally {
      await relay.stack.relay('topics', 'create');
    }
    expect((await story(envelopeId)).deliveries.map(({ state }) => state)).toEqual(['dead-letter']);
    expect(await cli.run(['dead-letters', 'purge', envelopeId, '--yes'])).toMatchObject({ code: 0 });
  });

  const buried = async (audience: readonly string[]): Promise<DeadLetter> => {
    const letter = unhandled(audience);
    const queue = new BullmqRetryQueue(relay.stack.shards);
    await queue.addDeadLetter(letter);
    await queue.close();
    return letter;
  };

  const unhandled = (audience: readonly string[]): DeadLetter => {
    const envelope = anEnvelope({ type: 'tax_return.updated' });
    return {
      v: 1,
      webhookId: NO_WEBHOOK,
      partnerId: audience.join(','),
      envelopeId: envelope.id,
      eventType: envelope.type,
      hash: '0123456789abcdef',
      series: 0,
      attempts: 0,
      acceptedAt: Date.now(),
      body: JSON.stringify(envelope),
      reason: 'handling_failed',
      diedAt: Date.now(),
    };
  };
});
