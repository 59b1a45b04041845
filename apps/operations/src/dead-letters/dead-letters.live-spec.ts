import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { deliveryId } from '@relay/delivery';
import { PublishFailed } from '@relay/publishing';
import { CANARY, letterOf, RunningOperations } from '../spec-operations.js';

const operations = await RunningOperations.ofSpec();

describe('dead letters by HTTP', () => {
  const call: RunningOperations['call'] = (...request) => operations.call(...request);

  it('lists, inspects, replays and purges dead letters, and tells each change and look', async () => {
    const [kept, purged] = [letterOf({ reason: 'gone' }), letterOf({ reason: 'gone', eventType: 'task.updated' })];
    await Promise.all([operations.addDeadLetter(kept), operations.addDeadLetter(purged)]);
    const list = await (await call('GET', '/dead-letters?reason=gone')).json();
    expect(list).toMatchObject({ stored: 2, complete: true, deadLetters: [{ reason: 'gone' }, { reason: 'gone' }] });
    expect(JSON.stringify(list)).not.toContain(CANARY);

    const id = deliveryId(kept);
    expect(await (await call('GET', `/dead-letters/${id}`)).json()).toMatchObject({ id, body: kept.body });
    const dryRun = { dryRun: true };
    for (const [method, path] of [
      ['POST', `/dead-letters/${id}/replay`],
      ['DELETE', `/dead-letters/${id}`],
    ] as const) {
      expect(await (await call(method, path, dryRun)).json()).toEqual({
        matched: 1,
        complete: true,
        until: expect.any(String),
      });
      expect((await call(method, path, { ids: [id] })).status).toBe(400);
    }
    expect(await (await call('POST', `/dead-letters/${id}/replay`, {})).json()).toMatchObject({
      replayed: 0,
      refused: [{ id, why: expect.stringContaining('no webhook matches') }],
    });
    const selection = { reason: 'gone', type: 'task.updated' };
    const dry = await call('POST', '/dead-letters/purge', { ...selection, dryRun: true });
    expect(await dry.json()).toMatchObject({ matched: 1, complete: true });
    expect(await (await call('POST', '/dead-letters/purge', selection)).json()).toEqual({
      purged: 1,
      missing: [],
      complete: true,
    });
    expect((await call('DELETE', `/dead-letters/${id}`)).status).toBe(200);
    expect((await call('GET', `/dead-letters/${id}`)).status).toBe(404);
    expect((await call('GET', '/dead-letters/wait')).status).toBe(404);

    const by = { operator: operations.operator.clientId };
    expect(operations.told()).toEqual([
      expect.objectContaining({ ...by, event: 'dead-letter.read', id, requestId: expect.any(String) }),
      expect.objectContaining({ ...by, event: 'dead-letters.replay.asked', ids: [id] }),
      expect.objectContaining({ ...by, event: 'dead-letters.replay.done', replayed: 0 }),
      expect.objectContaining({ ...by, event: 'dead-letters.purge.asked', ...selection }),
      expect.objectContaining({ ...by, event: 'dead-letters.purge.done', purged: 1 }),
      expect.objectContaining({ ...by, event: 'dead-letters.purge.asked', ids: [id] }),
      expect.objectContaining({ ...by, event: 'dead-letters.purge.done', purged: 1 }),
    ]);
  });

  it('has each route for the letter of a replay by time too, the id of which is the longest', async () => {
    const series = 1_795_485_632_000; // a replay's are made of the time of its order
    const letter = letterOf({ webhookId: randomUUID(), series, acceptedAt: series });
    await operations.addDeadLetter(letter);
    const id = deliveryId(letter);
    expect(id).toHaveLength(118);
    expect(await (await call('GET', `/dead-letters/${id}`)).json()).toMatchObject({ id, body: letter.body });
    expect((await call('GET', `/board/queue/dead-letters/${id}`)).status).toBe(200);
    expect(await (await call('POST', `/dead-letters/${id}/replay`)).json()).toMatchObject({ refused: [{ id }] });
    expect(await (await call('DELETE', `/dead-letters/${id}`)).json()).toMatchObject({ purged: 1 });
  });

  it.each([{}, { ids: ['a'], all: true }, { reason: 'none' }, { all: true, more: 1 }])(
    'chooses nothing by omission: %j',
    async (selection) => {
      expect((await call('POST', '/dead-letters/purge', selection)).status).toBe(400);
    },
  );

  it('changes nothing that it cannot tell', async () => {
    await operations.addDeadLetter(letterOf({ reason: 'handling_failed' }));
    operations.publisher.failure = new PublishFailed('unavailable', 'away');
    const answer = await call('POST', '/dead-letters/purge', { reason: 'handling_failed' });
    operations.publisher.failure = undefined;
    expect(answer.status).toBe(503);
    expect(await (await call('GET', '/dead-letters?reason=handling_failed')).json()).toMatchObject({
      deadLetters: [{ reason: 'handling_failed' }],
    });
  });

  it('answers in time where more dead letters are chosen than it can change, and the same request goes on', async () => {
    await call('POST', '/dead-letters/purge', { all: true });
    const filter = { reason: 'gone' } as const;
    await Promise.all(Array.from({ length: 120 }, () => operations.addDeadLetter(letterOf(filter))));
    const { publisher } = operations;
    const publish = publisher.publish.bind(publisher);
    publisher.publish = async (record) => {
      if (record.topic === 'relay.dead-letters') await delay(2_600); // two of them take longer than it works
      return publish(record);
    };
    const purge = async () => (await call('POST', '/dead-letters/purge', filter)).json();
    const some = await purge();
    publisher.publish = publish;
    expect(some).toEqual({ purged: 100, missing: [], complete: false });
    expect(operations.told().at(-1)).toMatchObject({ event: 'dead-letters.purge.done', purged: 100, complete: false });
    expect(await purge()).toEqual({ purged: 20, missing: [], complete: true });
  });
});
