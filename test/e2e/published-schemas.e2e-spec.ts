import { randomUUID } from 'node:crypto';
import { EVENT_TYPES } from '@relay/events';
import { anEnvelope, type Json } from '../support/client.js';
import { validatorOf } from '../support/json-schema.js';
import { partner, relay, source, startRelay } from '../support/shared-relay.js';
import { TopicContract } from '../support/topic-contract.js';
import { until } from '../support/until.js';

startRelay({ RETRY_SCHEDULE: '1s' });

const register = (eventType: string, path: string): Promise<string> =>
  partner.register({ eventType, endPointUrl: relay.receiver.url(path), apiKey: 'key' });
const topicOf = (name: string) => relay.stack.topic(name.slice(relay.stack.env['KAFKA_TOPIC_PREFIX']?.length));
const eventsTold = async (): Promise<string[]> =>
  (await relay.stack.topic('relay.operations').read()).map(
    ({ value }) => (JSON.parse(value.toString()) as { event: string }).event,
  );

describe('the content of topics and deliveries', () => {
  it('is what the published documents say', async () => {
    // Something of everything: delivered, given up, disabled and enabled, replayed, retried, and no envelope at all.
    for (const type of EVENT_TYPES) await register(type, `/well/${type}`);
    relay.receiver.plan('/dead', { status: 500 });
    relay.receiver.plan('/gone', { status: 410 });
    await register('plan.updated', '/dead');
    const gone = await register('task.deleted', '/gone');
    const bound = await relay.source('bound', '--partner', partner.clientId);
    for (const type of EVENT_TYPES) {
      const envelope = anEnvelope({ type, id: randomUUID().toUpperCase() });
      const payload = { ...envelope.payload, any: ['thing', 1.5, null] };
      expect((await source.post({ ...envelope, payload })).status).toBe(202);
      expect((await bound.post(anEnvelope({ type }))).status).toBe(202);
    }
    await relay.stack.topic('task.created').write({ value: 'no envelope', headers: { foreign: 'x' } }, { value: null });
    const bodies = (): string[] =>
      EVENT_TYPES.flatMap((type) => relay.receiver.at(`/well/${type}`)).map(({ body }) => body.toString());
    const so = async () => ({
      disabled: (await eventsTold()).includes('webhook.disabled'),
      dead: (await eventsTold()).filter((event) => event === 'delivery.dead').length,
      poison: await relay.stack.topic('task.created.dlq').count(),
      attempts: await relay.stack.topic('relay.delivery-attempts').count(),
      bodies: bodies().length,
    });
    // Two envelopes a type: both at '/dead' twice, one or both at '/gone'.
    const [all, least] = [2 * EVENT_TYPES.length, 2 * EVENT_TYPES.length + 4 + 1];
    await until(
      'all of it is done and told',
      async () => {
        const { disabled, dead, poison, attempts, bodies: received } = await so();
        return disabled && dead >= 3 && poison === 2 && attempts >= least && received === all;
      },
      { seen: so },
    );
    expect((await partner.request('POST', `/webhooks/${gone}/enable`)).status).toBe(200);
    const ordered = await partner.request('POST', `/webhooks/${gone}/replay`, { status: 'failed' });
    expect(ordered.status).toBe(202);
    expect((await partner.request('DELETE', `/replays/${String(ordered.json['id'])}`)).status).toBe(204);

    const contract = await TopicContract.read(relay.ingress.url);
    expect(contract.topics).toHaveLength(34);
    const counts: Record<string, number> = {};
    for (const name of contract.topics) {
      const records = await topicOf(name).read();
      counts[name.slice(relay.stack.env['KAFKA_TOPIC_PREFIX']?.length)] = records.length;
      // The foreign records are in the topic as they were written.
      const own = records.filter(
        ({ headers }) => name.endsWith('.dlq') || name.includes('relay.') || 'ce_id' in headers,
      );
      expect(contract.faults(name, own)).toEqual([]);
    }
    expect(counts).toMatchObject({ 'task.created.dlq': 2, 'plan.updated': 2, 'relay.registry': expect.any(Number) });
    expect(counts['relay.delivery-attempts']).toBeGreaterThanOrEqual(least);
    for (const name of ['relay.operations', 'relay.notices', 'relay.dead-letters', 'relay.registry'])
      expect(counts[name]).toBeGreaterThan(1);
    // And the comparison is one: no record of one topic fits another's description.
    const attempts = await relay.stack.topic('relay.delivery-attempts').read();
    expect(contract.faults(topicOf('').name + 'relay.operations', attempts.slice(0, 1))).toHaveLength(1);

    const openApi = (await (await fetch(`${relay.ingress.url}/openapi.json`)).json()) as {
      components: { schemas: Record<string, Json> };
    };
    const Envelope = validatorOf({ $ref: '#/components/schemas/Envelope' }, openApi.components.schemas);
    expect(bodies().filter((body) => !Envelope.safeParse(JSON.parse(body)).success)).toEqual([]);
    expect(Envelope.safeParse({ id: 'x', type: 'task.created', payload: {} }).success).toBe(false);
  });
});
