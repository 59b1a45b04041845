import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import kafkajs from 'kafkajs';
import { App, mainOf } from '../support/app.js';
import { deadLettersIn } from '../support/dead-letters.js';
import { partner, relay, source, startRelay } from '../support/shared-relay.js';
import { Program } from '../support/terminal.js';
import { until } from '../support/until.js';

const MAX_ENVELOPE_BYTES = 921_600;
let other: App | undefined;

startRelay({ MAX_ENVELOPE_BYTES: String(MAX_ENVELOPE_BYTES), RETRY_SCHEDULE: '300ms,300ms' }, () => other?.kill());

/** An envelope of this size, whose JSON text in another JSON text is as long as it can get. */
function envelopeOf(bytes: number, id: string = randomUUID()): string {
  const around = `{"id":"${id}","type":"plan.updated","payload":{"x":""}}`;
  const left = bytes - around.length;
  return around.replace('"x":""', () => `"x":"${'\\\\'.repeat(left / 2)}${'y'.repeat(left % 2)}"`);
}

const register = async (path: string): Promise<string> =>
  partner.register({ eventType: 'plan.updated', endPointUrl: relay.receiver.url(path), apiKey: 'k' });
const removed = (id: string) => partner.request('DELETE', '/webhooks', { eventType: 'plan.updated', id });

it('the longest envelope is delivered from the log and from the queue, and heard by a listener', async () => {
  const webhook = await register('/large');
  relay.receiver.plan('/large', { status: 500 }, { status: 204 });
  const { clientId: RELAY_CLIENT_ID, clientSecret: RELAY_CLIENT_SECRET } = partner;
  const { url } = relay.ingress;
  const environment = { PUBLIC_URL: url, RELAY_URL: url, RELAY_CLIENT_ID, RELAY_CLIENT_SECRET };
  const args = ['listen', '--forward-to', relay.receiver.url('/heard'), '--json'];
  const listening = new Program(process.execPath, [mainOf('cli'), ...args], environment);
  await listening.prints(/"open"/);
  const text = envelopeOf(MAX_ENVELOPE_BYTES);
  expect(Buffer.byteLength(text)).toBe(MAX_ENVELOPE_BYTES);
  expect(await source.post(text)).toMatchObject({ status: 202 });
  const attempts = await until('two attempts arrive', () => {
    const found = relay.receiver.at('/large');
    return found.length === 2 && found;
  });
  expect(attempts.map(({ body, status }) => [body.equals(Buffer.from(text)), status])).toEqual([
    [true, 500],
    [true, 204],
  ]);
  const heard = await until('the listener forwards it', () => relay.receiver.at('/heard')[0]);
  expect(heard.body.equals(Buffer.from(text))).toBe(true);
  await listening.end();
  await removed(webhook);
});

it('the longest envelopes wait in the log for a disabled webhook and are delivered once it is enabled', async () => {
  const webhook = await register('/parked');
  const turn = (what: string) => partner.request('POST', `/webhooks/${webhook}/${what}`);
  expect((await turn('disable')).status).toBe(200);
  const texts = Array.from({ length: 4 }, () => envelopeOf(MAX_ENVELOPE_BYTES));
  for (const text of texts) expect(await source.post(text)).toMatchObject({ status: 202 });
  await until('they are parked', () => relay.stack.isParked(webhook));
  expect((await turn('enable')).status).toBe(200);
  const bodies = (): string[] => relay.receiver.at('/parked').map(({ body }) => body.toString());
  await until('all are delivered', () => texts.every((text) => bodies().includes(text)), {
    seen: () => bodies().length,
  });
  await removed(webhook);
});

it('a dead letter of the longest envelope is stored whole, also in its topic, and is replayed', async () => {
  const webhook = await register('/dead');
  relay.receiver.plan('/dead', { status: 500 });
  const id = randomUUID();
  const text = envelopeOf(MAX_ENVELOPE_BYTES, id);
  expect(await source.post(text)).toMatchObject({ status: 202 });
  const letter = await until('it is a dead letter', async () =>
    (await deadLettersIn(relay.stack.shards)).find(({ envelopeId }) => envelopeId === id),
  );
  const bodies = async (): Promise<string[]> =>
    (await relay.stack.topic('relay.dead-letters').read()).map(
      ({ value }) => (JSON.parse(value.toString()) as { body: string }).body,
    );
  expect(await until('its topic has it', async () => (await bodies())[0])).toBe(text);
  relay.receiver.plan('/dead', { status: 204 });
  const before = relay.receiver.at('/dead').length;
  await relay.stack.relay('dead-letters', 'replay', letter.id);
  const replayed = await until('it is delivered', () => relay.receiver.at('/dead')[before]);
  expect(replayed.body.equals(Buffer.from(text))).toBe(true);
  await removed(webhook);
});

it('a longer envelope is refused with the bound, alone and in a batch, whose other envelopes are accepted', async () => {
  const tooLong = envelopeOf(MAX_ENVELOPE_BYTES + 1);
  expect(await source.post(tooLong)).toMatchObject({
    status: 413,
    json: { detail: 'The body is longer than the 921600 bytes that this path accepts.' },
  });
  const batch = `[${envelopeOf(MAX_ENVELOPE_BYTES)},${tooLong}]`;
  expect((await source.request('POST', '/deliveries/batch', batch)).json).toMatchObject({
    results: [
      { status: 'accepted' },
      { status: 'invalid', errors: [{ detail: 'An envelope has at most 921600 bytes, this one 921601.' }] },
    ],
  });
});

it('an ingress is not ready while a topic has no room for its longest envelope, says which one, and starts then', async () => {
  const { name } = relay.stack.topic('task.created');
  const limit = async (value: string): Promise<void> => {
    const configEntries = [{ name: 'max.message.bytes', value }];
    const resources = [{ type: kafkajs.ConfigResourceTypes.TOPIC, name, configEntries }];
    await relay.stack.admin.alterConfigs({ validateOnly: false, resources });
  };
  await limit('900000');
  other = await App.launch('ingress', relay.stack.env);
  const said = `The topic ${name} has max.message.bytes=900000, and MAX_ENVELOPE_BYTES=921600 needs 987136`;
  const told = until('it says so', async () => (await other?.health())?.faults['ingress']?.startsWith(said));
  await told;
  await delay(1_500);
  expect((await other.health())?.status).not.toBe('ok');
  expect(other.log.find((line) => line.includes('ingress.waiting') && line.includes('kafka-configs.sh'))).toContain(
    said,
  );
  await limit('987136');
  await other.ready();
});
