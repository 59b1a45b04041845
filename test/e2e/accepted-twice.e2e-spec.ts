import { setTimeout as delay } from 'node:timers/promises';
import { anEnvelope } from '../support/client.js';
import { deadLettersIn } from '../support/dead-letters.js';
import { partner, relay, source, startRelay } from '../support/shared-relay.js';
import { until } from '../support/until.js';

type Envelope = ReturnType<typeof anEnvelope>;
interface Letter {
  readonly id: string;
  readonly envelopeId: string;
  readonly diedAt: string;
}

const WINDOW_MS = 1_000;
const [FAILS, WORKS] = [{ status: 500 }, { status: 204 }];

startRelay({ RETRY_SCHEDULE: '200ms', DEDUPE_WINDOW: `${WINDOW_MS}ms` });

const { at, plan } = {
  at: (path: string) => relay.receiver.at(path),
  plan: (path: string, answer: { status: number } | 'hang') => relay.receiver.plan(path, answer),
};
const register = (type: string, path: string): Promise<string> =>
  partner.register({ eventType: type, endPointUrl: relay.receiver.url(path), apiKey: 'key' });
const lettersOf = async ({ id }: Envelope): Promise<Letter[]> =>
  (await deadLettersIn(relay.stack.shards)).filter(({ envelopeId }) => envelopeId === id);

/** What the expiry of the marks does, a day, five hours and the window after the envelope was settled. */
async function forgetIds(envelope: Envelope): Promise<void> {
  await until('it is settled', async () => {
    // Nothing is known of it for a moment, and the command fails.
    const story = await relay.stack.relay('envelopes', 'get', envelope.id).catch(() => undefined);
    return (story as { mark: string | null } | undefined)?.mark === 'settled';
  });
  const shard = relay.stack.shards.of(envelope.id);
  // The ingress marks an id after its 202, on a busy machine also after the worker has settled it.
  await until('no mark comes any more', async () => {
    const keys = await shard.redis.keys(shard.key('seen*'));
    if (keys.length > 0) await shard.redis.del(...keys);
    else await delay(500);
    return keys.length === 0 && (await shard.redis.keys(shard.key('seen*'))).length === 0;
  });
}

async function accepted(envelope: Envelope): Promise<void> {
  expect((await source.post(envelope)).json).toMatchObject({ status: 'accepted' });
}

async function untilDead(envelope: Envelope, letters: number): Promise<Letter[]> {
  await until(`it is a dead letter of ${letters}`, async () => (await lettersOf(envelope)).length === letters);
  return lettersOf(envelope);
}

/** An envelope whose first acceptance is a dead letter and forgotten. */
async function dead(type: string, path: string): Promise<Envelope> {
  const envelope = anEnvelope({ type });
  plan(path, FAILS);
  await accepted(envelope);
  await untilDead(envelope, 1);
  await forgetIds(envelope);
  return envelope;
}

const parkedFor = (id: string) => (): Promise<boolean> => relay.stack.isParked(id);
const disable = async (id: string): Promise<void> => {
  expect((await partner.request('POST', `/webhooks/${id}/disable`)).status).toBe(200);
};
const enable = async (id: string): Promise<void> => {
  expect((await partner.request('POST', `/webhooks/${id}/enable`)).status).toBe(200);
};

describe('an id that is accepted again after the window, while its first dead letter is kept,', () => {
  it('is attempted straight from the log, and is a dead letter of its own when it fails again', async () => {
    await register('task.created', '/straight');
    const envelope = await dead('task.created', '/straight');
    const [first] = await lettersOf(envelope);
    await accepted(envelope);
    const letters = await untilDead(envelope, 2);
    expect(at('/straight')).toHaveLength(4);
    expect(new Set(letters.map(({ diedAt }) => diedAt)).size).toBe(2);
    expect(letters).toContainEqual(first);

    plan('/straight', WORKS);
    await forgetIds(envelope);
    await accepted(envelope);
    await until('it is delivered', () => at('/straight').length === 5);
    // Each letter is replayed for itself.
    await relay.stack.relay('dead-letters', 'replay', envelope.id);
    await until('both are replayed', () => at('/straight').length === 7);
    expect(await lettersOf(envelope)).toEqual([]);
  });

  it('is delivered by catch-up when its webhook is enabled', async () => {
    const id = await register('task.updated', '/parked');
    const envelope = await dead('task.updated', '/parked');
    await disable(id);
    await accepted(envelope);
    await until('it waits in the log', parkedFor(id));
    plan('/parked', WORKS);
    await enable(id);
    await until('it is delivered', () => relay.receiver.delivered('/parked').length === 1);
    expect(await lettersOf(envelope)).toHaveLength(1);
  });

  it('is delivered after a crash, by the worker that reads it again', async () => {
    await register('plan.created', '/crash');
    const envelope = await dead('plan.created', '/crash');
    plan('/crash', 'hang');
    const attempts = at('/crash').length;
    await accepted(envelope);
    await until('it is attempted', () => at('/crash').length > attempts);
    await relay.worker.kill();
    plan('/crash', WORKS);
    relay.worker.start();
    await until('it is delivered', () => relay.receiver.delivered('/crash').length === 1, { withinMs: 60_000 });
    expect(await lettersOf(envelope)).toHaveLength(1);
  });

  it('is delivered after Redis was lost, even if an operator had ended the first dead letter', async () => {
    const id = await register('plan.updated', '/lost');
    const [kept, purged] = [await dead('plan.updated', '/lost'), await dead('plan.updated', '/lost')];
    await relay.stack.relay('dead-letters', 'purge', purged.id, '--yes');
    plan('/lost', WORKS);
    const delivered = anEnvelope({ type: 'plan.updated' });
    await accepted(delivered);
    await until('it is delivered', () => relay.receiver.delivered('/lost').length === 1);
    await forgetIds(delivered);
    // The recovery tells by the window which records of an id are two acceptances.
    await delay(WINDOW_MS);
    await disable(id);
    const twice = [kept, purged, delivered];
    for (const envelope of twice) await accepted(envelope);
    await until('they wait in the log', parkedFor(id));
    await until('the group has committed', async () => (await relay.stack.lag('plan.updated')) === 0);
    await relay.worker.kill();
    await relay.stack.redisLost();
    await relay.stack.relay('recover');
    relay.worker.start();
    await relay.worker.ready();
    await enable(id);
    const ids = () => relay.receiver.delivered('/lost').slice(1).toSorted();
    await until('each is delivered', () => ids().length === 3, { withinMs: 60_000, seen: ids });
    expect(ids()).toEqual(twice.map((envelope) => envelope.id).toSorted());
    expect(await lettersOf(kept)).toHaveLength(1);
    expect(await lettersOf(purged)).toEqual([]);
  });
});
