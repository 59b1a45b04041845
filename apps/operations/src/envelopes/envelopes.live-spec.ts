import { randomUUID } from 'node:crypto';
import { letterOf, RunningOperations } from '../spec-operations.js';

const operations = await RunningOperations.ofSpec();

describe('the routes of envelopes and attempts without Kafka and without an index', () => {
  it('tell what Redis knows, and name what is away', async () => {
    const letter = letterOf({
      webhookId: randomUUID(),
      tries: [{ at: 1_500, durationMs: 7, status: 500 }],
    });
    await operations.addDeadLetter(letter);
    const answer = await operations.call('GET', `/envelopes/${letter.envelopeId.toUpperCase()}`);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({
      id: letter.envelopeId,
      eventType: 'task.created',
      record: null,
      deliveries: [
        {
          state: 'dead-letter',
          webhookId: letter.webhookId,
          reason: 'attempts_exhausted',
          attempts: [{ status: 500 }],
        },
      ],
      incomplete: ['index', 'kafka'],
    });
    const payload = await operations.call('GET', `/envelopes/${letter.envelopeId}/payload`);
    expect([payload.status, payload.headers.get('retry-after')]).toEqual([503, '5']);
    expect(operations.told()).toEqual([]);
  });

  it('are 404 for an id of which nothing is known, and say that the index is off', async () => {
    for (const id of [randomUUID(), 'x'])
      for (const path of [`/envelopes/${id}`, `/envelopes/${id}/payload`]) {
        const answer = await operations.call('GET', path);
        expect([path, answer.status, await answer.text()]).toEqual([
          path,
          404,
          expect.stringContaining('Nothing is known'),
        ]);
      }
    for (const path of ['/attempts', '/attempts/counts']) {
      const search = await operations.call('GET', path);
      expect([search.status, await search.text()]).toEqual([404, expect.stringContaining('SEARCH_INDEX is off')]);
    }
  });
});
