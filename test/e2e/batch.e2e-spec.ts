import { randomUUID } from 'node:crypto';
import { anEnvelope } from '../support/client.js';
import { partner, relay, source, startRelay } from '../support/shared-relay.js';
import { until } from '../support/until.js';

startRelay();

beforeAll(async () => {
  for (const eventType of ['plan.created', 'task.created'])
    await partner.register({ eventType, endPointUrl: relay.receiver.url(`/${eventType}`), apiKey: 'key' });
});

const FORMS = [
  ['application/x-ndjson', (parts: string[]) => `${parts.join('\n')}\n`],
  ['application/json', (parts: string[]) => `[ ${parts.join(' ,\n')} ]`],
] as const;

const batch = (contentType: string, body: string) =>
  source.request('POST', '/deliveries/batch', body, { 'content-type': contentType });

const bodies = (path: string) => relay.receiver.at(path).map(({ body }) => body.toString());
const aPlan = (id: string, rest = '') => `{"type":"plan.created", "payload":{"n":1.10${rest}},"id":"${id}"}`;

describe.each(FORMS)('a batch as %s', (contentType, join) => {
  it('answers each envelope in order, and a bad one spoils no other', async () => {
    const [first, second, known] = [randomUUID(), randomUUID(), randomUUID()];
    const task = anEnvelope();
    await source.post(aPlan(known));
    const wrongType = anEnvelope({ type: 'plan.exploded' });
    const answer = await batch(
      contentType,
      join([
        aPlan(first),
        '{"id":"broken","type":"plan.created" "payload":{}}',
        JSON.stringify(wrongType),
        aPlan(known),
        aPlan(known, ',"more":1'),
        aPlan(second),
        aPlan(first),
        JSON.stringify(task),
        'null',
      ]),
    );
    const errors = (pointer: string) => [{ pointer, detail: expect.stringMatching(/./) }];
    expect([answer.status, answer.json]).toEqual([
      200,
      {
        results: [
          { id: first, status: 'accepted' },
          { id: null, status: 'invalid', errors: [expect.objectContaining({ detail: expect.stringMatching(/./) })] },
          { id: wrongType.id, status: 'invalid', errors: errors('/type') },
          { id: known, status: 'duplicate' },
          { id: known, status: 'conflict' },
          { id: second, status: 'accepted' },
          { id: first, status: 'duplicate' },
          { id: task.id, status: 'accepted' },
          { id: null, status: 'invalid', errors: errors('') },
        ],
      },
    ]);
    await until('the good ones are delivered', () =>
      [aPlan(first), aPlan(second), aPlan(known)].every((text) => bodies('/plan.created').includes(text)),
    );
    await until('the task is delivered', () => bodies('/task.created').includes(JSON.stringify(task)));
    expect(new Set(bodies('/plan.created')).size).toBe(bodies('/plan.created').length);
  });

  it('is taken with 1,000 envelopes and refused as a whole with 1,001', async () => {
    const plans = Array.from({ length: 1_001 }, () => aPlan(randomUUID()));
    const before = await relay.stack.topic('plan.created').count();
    expect(await batch(contentType, join(plans))).toMatchObject({ status: 413 });
    expect(await relay.stack.topic('plan.created').count()).toBe(before);
    const answer = await batch(contentType, join(plans.slice(1)));
    const results = answer.json['results'] as unknown as { status: string }[];
    expect(results.map(({ status }) => status)).toEqual(Array.from({ length: 1_000 }, () => 'accepted'));
    expect(await relay.stack.topic('plan.created').count()).toBe(before + 1_000);
    await until('all are delivered', () => {
      const delivered = new Set(bodies('/plan.created'));
      return plans.slice(1).every((text) => delivered.has(text));
    });
  });
});

it.each([
  ['application/json', '{}', 400],
  ['application/json', '[{"id":', 400],
  ['text/plain', '[]', 415],
  ['application/x-ndjson', 'x'.repeat(4 * 1024 * 1024 + 1), 413],
])('a body that is no batch (%s) is refused as a whole', async (contentType, body, status) => {
  expect(await batch(contentType, body)).toMatchObject({ status });
});
