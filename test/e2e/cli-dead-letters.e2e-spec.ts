import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { BullmqRetryQueue, NO_WEBHOOK, type DeadLetter } from '@relay/retry';
import { anEnvelope } from '../support/client.js';
import { CommandLine } from '../support/command-line.js';
import { Relay } from '../support/relay.js';
import { until } from '../support/until.js';

jest.setTimeout(150_000);

/** A look takes a process of its own, seconds of it where other specs share the cores. */
const WAIT_MS = 8_000;

let relay: Relay;
let cli: CommandLine;
beforeAll(async () => {
  relay = await Relay.start({ RETRY_SCHEDULE: `${WAIT_MS}ms,200ms` });
  cli = new CommandLine(relay.stack.env);
});
afterAll(() => relay.close());

describe('relay deliveries get and relay dead-letters', () => {
  interface Story {
    readonly seen: { state: string } | null;
    readonly deliveries: readonly {
      state: string;
      series: number;
      nextAttemptAt?: string;
      attempts: { outcome: string }[];
    }[];
  }
  const story = (id: string): Promise<Story> => cli.json<Story>(['deliveries', 'get', id]);
  const states = async (id: string): Promise<string[]> => (await story(id)).deliveries.map(({ state }) => state);

  it('tell an envelope from its first attempt to the replay of its dead letter, and its purge', async () => {
    const [partner, source] = [await relay.partner(), await relay.source()];
    relay.receiver.plan('/story', { status: 500 });
    const endPointUrl = relay.receiver.url('/story');
    const webhook = await partner.register({ eventType: 'task.updated', endPointUrl, apiKey: 'key' });
    const envelope = anEnvelope({ type: 'task.updated' });
    await source.post(envelope);
    const waiting = await until('its first attempt is told', async () => {
      const told = await story(envelope.id);
      return told.deliveries[0]?.attempts.length === 1 ? told : undefined;
    });
    const [delivery] = waiting.deliveries;
    expect(delivery).toMatchObject({ state: 'waiting', webhookId: webhook, attempts: [{ attempt: 1, status: 500 }] });
    const waitMs =
      Date.parse(delivery?.nextAttemptAt ?? '') - Date.parse(String(Reflect.get(delivery?.attempts[0] ?? {}, 'at')));
    expect(waitMs).toBeGreaterThanOrEqual(WAIT_MS - 10);
    expect(waitMs).toBeLessThan(2 * WAIT_MS);

    const dead = await until(
      'it is a dead letter',
      async () => {
        const told = await story(envelope.id);
        return told.deliveries[0]?.attempts.length === 3 ? told : undefined;
      },
      { withinMs: 40_000 },
    );
    expect(dead.deliveries.map(({ state }) => state)).toEqual(['dead-letter']);
    expect(dead.deliveries[0]?.attempts.map(({ outcome }) => outcome)).toEqual(['retry', 'retry', 'dead-letter']);
    expect(dead.seen).toMatchObject({ state: 'settled' });

    expect(await cli.json(['dead-letters', 'replay', envelope.id])).toMatchObject({ replayed: 1, deliveries: 1 });
    await until('it died again', async () => (await states(envelope.id)).join() === 'replayed,dead-letter', {
      withinMs: 40_000,
    });
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
    expect(await states(envelope.id)).toEqual(['replayed', 'purged']);
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
    await until('it is settled', async () => (await story(first.id)).seen?.state === 'settled');
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

    const letter = unhandled(partners.slice(0, 2).map(({ clientId }) => clientId));
    const queue = new BullmqRetryQueue(relay.stack.redis);
    await queue.bury(letter);
    const report = await cli.json(['dead-letters', 'replay', '--reason', 'handling_failed']);
    expect(report).toEqual({ replayed: 1, deliveries: 2, refused: [], missing: [] });
    await until('both have it', () => [0, 1].every((index) => relay.receiver.at(`/match/${index}`).length === 1));
    expect(relay.receiver.at('/match/2')).toEqual([]);
    expect(relay.receiver.at('/match/0')[0]?.body.toString()).toBe(letter.body);
    await queue.close();
  });

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
