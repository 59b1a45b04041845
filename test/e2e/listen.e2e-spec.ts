import { randomUUID } from 'node:crypto';
import { TcpProxy } from '@relay/testing';
import { Webhook } from 'standardwebhooks';
import { App, mainOf } from '../support/app.js';
import { anEnvelope, type Client } from '../support/client.js';
import { Ear } from '../support/ear.js';
import { postMany } from '../support/post-many.js';
import { partner, relay, source, startRelay } from '../support/shared-relay.js';
import { Program } from '../support/terminal.js';
import { until } from '../support/until.js';

let second: App;

startRelay({ RETRY_SCHEDULE: '1s,1s,1s' }, () => second?.stop());

beforeAll(async () => {
  second = await App.start('ingress', relay.stack.env);
});

/** What a machine of a partner has: an address of the relay and credentials, nothing of the stores. */
const environment = ({ clientId, clientSecret }: Client) => ({
  PATH: process.env['PATH'] ?? '',
  PUBLIC_URL: relay.ingress.url,
  RELAY_URL: relay.ingress.url,
  RELAY_CLIENT_ID: clientId,
  RELAY_CLIENT_SECRET: clientSecret,
});
const commands = {
  'relay listen': mainOf('cli'),
  'partner-relay listen': mainOf('cli').replace('apps/cli/src', 'libs/clients/client'),
};
/** A figure that a process tells of its streams. */
const figureOf = async (app: App, name: string): Promise<number> => {
  const line = (await app.metrics()).split('\n').find((each) => each.startsWith(`relay_listen_${name} `));
  return Number(line?.split(' ')[1] ?? 0);
};
const tells = (app: App, name: string, value: number): Promise<unknown> =>
  until(`${name} is ${value}`, async () => (await figureOf(app, name)) === value, { seen: () => app.metrics() });
const linesOf = (program: Program): Record<string, Record<string, unknown>>[] =>
  program.output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, Record<string, unknown>>);

describe.each(Object.entries(commands))('%s', (name, main) => {
  const path = `/${name.replace(' ', '-')}`;

  it('forwards what arrives with the same bytes and headers, once, and ends with a count', async () => {
    relay.receiver.plan(path, { status: 500 }, { status: 204 });
    const args = ['--type', 'task.created,plan.created', '--forward-to', relay.receiver.url(path), '--json'];
    const listening = new Program(process.execPath, [main, 'listen', ...args], environment(partner));
    await listening.prints(/"open"/);
    const envelopes = [anEnvelope(), anEnvelope({ type: 'plan.created', payload: { text: 'Grüße\u2028 🌍' } })];
    const texts = envelopes.map((envelope) => JSON.stringify(envelope, undefined, 1));
    for (const text of texts) expect((await source.post(text)).status).toBe(202);
    const lines = await until('both are printed', () => {
      const found = linesOf(listening).filter((line) => 'id' in line);
      return found.length === 2 && found;
    });
    expect(new Set(lines.map(({ id }) => id))).toEqual(new Set(envelopes.map(({ id }) => id)));
    for (const line of lines) expect(line).toMatchObject({ verified: true, ms: expect.any(Number) });
    expect(lines.map(({ status }) => status)).toEqual([500, 204]);
    const forwarded = relay.receiver.at(path);
    expect(forwarded.map(({ body }) => body.toString()).toSorted()).toEqual(texts.toSorted());
    const secret = String(linesOf(listening)[0]?.['open']?.['secret']);
    for (const { headers, body } of forwarded) new Webhook(secret).verify(body.toString(), headers as never);
    expect(forwarded[0]?.headers).toMatchObject({
      'relay-attempt': '1',
      'relay-event-type': expect.any(String),
      'user-agent': expect.stringMatching(/^partner-relay\//),
    });
    expect(await listening.end('SIGINT')).toBe(0);
    expect(linesOf(listening).at(-1)).toEqual({ ended: { received: 2, failed: 1 } });
  });

  it('ends when nobody reads what it prints any more', async () => {
    const command = `"${process.execPath}" "${main}" listen --type plan.created; echo "ended with $?" >&2`;
    const listening = new Program('bash', ['-c', `{ ${command}; } | head -n 1`], environment(partner));
    await listening.prints(/^Listening for plan\.created\. Each delivery is printed, signed with whsec_/m);
    // `head` has gone: the next line finds nobody.
    expect((await source.post(anEnvelope({ type: 'plan.created' }))).status).toBe(202);
    await listening.prints(/^ended with 0$/m);
  });

  it('says what it lacks', async () => {
    const cli = async (args: string[], settings = {}) => {
      const program = new Program(process.execPath, [main, 'listen', ...args], {
        ...environment(partner),
        ...settings,
      });
      return { code: await program.ended(), output: program.output };
    };
    expect(await cli([], { RELAY_CLIENT_ID: '' })).toEqual({
      code: 2,
      output: expect.stringContaining('RELAY_CLIENT_ID'),
    });
    expect(await cli(['--type', 'task.gone'])).toEqual({
      code: 1,
      output: expect.stringContaining('task.gone is no event type'),
    });
    const wrong = await cli([], { RELAY_CLIENT_SECRET: 'relay_sk_wrong' });
    expect(wrong).toEqual({ code: 1, output: expect.stringContaining('invalid_client') });
  });
});

it('a stream has an envelope within a second of the 202, and none that is for others', async () => {
  const other = await relay.partner('other');
  const ears = [await Ear.open(relay.ingress.url, partner), await Ear.open(second.url, other)];
  const [own, foreign] = ears as [Ear, Ear];
  try {
    const forAll = anEnvelope();
    expect((await source.post(forAll)).status).toBe(202);
    const acceptedAt = performance.now();
    await Promise.all(ears.map((ear) => ear.hears(1)));
    for (const ear of ears) expect((ear.of('delivery')[0]?.heardAt ?? 0) - acceptedAt).toBeLessThan(1_000);
    const addressed = anEnvelope();
    expect((await source.post(addressed, { 'relay-partner': other.clientId })).status).toBe(202);
    await foreign.hears(2);
    const last = anEnvelope();
    await source.post(last);
    await Promise.all([own.hears(2), foreign.hears(3)]);
    expect(own.ids().toSorted()).toEqual([forAll.id, last.id].toSorted());
    expect(foreign.ids()).toContain(addressed.id);
    const secrets = ears.map((ear) => ear.of('open')[0]?.secret);
    expect(secrets[0]).not.toBe(secrets[1]);
  } finally {
    await Promise.all(ears.map((ear) => ear.close()));
  }
});

it('a stream loses and repeats none of 1,000 envelopes while the connection is cut, between two processes', async () => {
  const cutting = await relay.partner('cutting');
  const proxy = await TcpProxy.before(relay.ingress.port, second.port);
  const ear = await Ear.open(proxy.url, cutting, ['message.created']);
  try {
    const posted = new Map<string, string>();
    for (let part = 0; part < 10; part += 1) {
      for (const [id, body] of await postMany(source, 100, 'message.created')) posted.set(id, body);
      if (part % 3 !== 1) continue;
      await until('the stream is open again', () => ear.of('open').length > ear.of('cut').length);
      proxy.cut();
      await until('the stream is cut', () => ear.of('open').length === ear.of('cut').length);
    }
    await ear.hears(1_000);
    expect(ear.ids()).toHaveLength(1_000);
    expect(new Map(ear.of('delivery').map(({ id, body }) => [id, body.toString()]))).toEqual(posted);
    expect(ear.of('cut')).toHaveLength(3);
    expect(ear.of('skipped')).toEqual([]);
    // The same secret at both processes.
    expect(new Set(ear.of('open').map(({ secret }) => secret)).size).toBe(1);
  } finally {
    await ear.close();
    await proxy.close();
  }
});

it('a stream ends with its token, and for good with its partner', async () => {
  const leaving = await relay.partner('leaving');
  const ear = await Ear.open(relay.ingress.url, leaving);
  expect(await figureOf(relay.ingress, 'streams')).toBeGreaterThan(0);
  await relay.stack.relay('partners', 'rotate', leaving.clientId, '--end-tokens');
  await expect(ear.ended).rejects.toThrow('invalid_client');
  expect(ear.of('cut').map(({ reason }) => reason)).toEqual([expect.stringContaining('access token has ended')]);
  await tells(relay.ingress, 'ends_total{reason="token"}', 1);
});

it('the ingress ends the oldest stream of a partner that opens too many', async () => {
  const busy = await relay.partner('busy');
  const ears: Ear[] = [];
  for (let count = 0; count < 3; count += 1) ears.push(await Ear.open(relay.ingress.url, busy));
  await expect(ears[0]?.ended).rejects.toThrow('more streams than you may have at once');
  await source.post(anEnvelope());
  await Promise.all(ears.slice(1).map((ear) => ear.hears(1)));
  await tells(relay.ingress, 'ends_total{reason="replaced"}', 1);
  await Promise.all(ears.map((ear) => ear.close()));
  await tells(relay.ingress, 'streams', 0);
  expect(await figureOf(relay.ingress, 'ends_total{reason="left"}')).toBeGreaterThanOrEqual(2);
});

it('a stream goes on at another process when its own stops, which waits for no stream', async () => {
  const moving = await relay.partner('moving');
  const stopping = await App.start('ingress', relay.stack.env);
  const proxy = await TcpProxy.before(stopping.port);
  const ear = await Ear.open(proxy.url, moving, ['tax_return.filed']);
  try {
    const before = await postMany(source, 50, 'tax_return.filed');
    await ear.hears(50);
    proxy.ports = [second.port];
    expect(await stopping.stop()).toBe(0);
    const after = await postMany(source, 50, 'tax_return.filed');
    await ear.hears(100);
    expect(ear.ids().toSorted()).toEqual([...before.keys(), ...after.keys()].toSorted());
    expect(ear.of('cut')[0]?.reason).toContain('process of the relay stops');
  } finally {
    await ear.close();
    await proxy.close();
  }
});

it('the ingress keeps nothing in memory for a client that does not read, which gets it all when it reads on', async () => {
  const [stalled, quick] = [await relay.partner('stalled'), await relay.partner('quick')];
  const headers = { authorization: `Bearer ${await stalled.token()}` };
  // An answer that nobody holds any more is cancelled when garbage is collected.
  const response = await fetch(`${second.url}/listen?type=plan.updated`, { headers });
  expect(response.status).toBe(200);
  const ear = await Ear.open(second.url, quick, ['plan.updated']);
  try {
    const payload = { id: randomUUID(), text: 'x'.repeat(200_000) };
    const ids: string[] = [];
    for (let sent = 0; sent < 100; sent += 1) {
      const envelope = anEnvelope({ type: 'plan.updated', payload });
      expect((await source.post(envelope)).status).toBe(202);
      ids.push(envelope.id);
    }
    await ear.hears(100);
    expect(ear.ids()).toEqual(ids);
    const [written, behind] = ['events_total{event_type="plan.updated"}', 'behind_records'];
    expect(await figureOf(second, behind)).toBeGreaterThan(0);
    expect(await figureOf(second, written)).toBeLessThan(200);
    const read: string[] = [];
    const decoder = new TextDecoder();
    let text = '';
    for await (const part of response.body as AsyncIterable<Uint8Array>) {
      const events = (text + decoder.decode(part, { stream: true })).split('\n\n');
      text = events.pop() ?? '';
      for (const event of events.filter((each) => !each.includes('event: open')))
        read.push(/^event: delivery\ndata: \{"id":"([\w-]+)"/m.exec(event)?.[1] ?? event.slice(-300));
      if (read.length >= 100) break;
    }
    expect(read).toEqual(ids);
    await tells(second, written, 200);
    await tells(second, behind, 0);
  } finally {
    await ear.close();
  }
});

it('the ingress refuses a stream beyond LISTEN_STREAMS, and serves those it has', async () => {
  const [first, next] = [await relay.partner('first'), await relay.partner('next')];
  const full = await App.start('ingress', relay.stack.env, { env: { LISTEN_STREAMS: '1' } });
  const ear = await Ear.open(full.url, first);
  try {
    await expect(Ear.open(full.url, next)).rejects.toThrow('as many streams as it takes');
    await source.post(anEnvelope());
    await ear.hears(1);
    await ear.close();
    const other = await Ear.open(full.url, next);
    await other.close();
  } finally {
    await full.stop();
  }
});

it.each([
  ['for too long', 'recommendation.deleted', postTooMany],
  // The offsets where it was are those of other records by then.
  ['while its topic was made anew, and is longer', 'tax_return.updated', madeAnew],
] as const)(
  'a stream says what is missing after it was away %s',
  async (_, type, happens: (of: string) => Promise<void>) => {
    const proxy = await TcpProxy.before(second.port);
    const ear = await Ear.open(proxy.url, await relay.partner('away'), [type]);
    try {
      await postMany(source, 4, type);
      await ear.hears(4);
      proxy.ports = [1]; // where nobody listens
      proxy.cut();
      await happens(type);
      proxy.ports = [second.port];
      await until('the stream is open again', () => ear.of('open').length === 2);
      const last = anEnvelope({ type });
      await source.post(last);
      await ear.hears(5);
      expect(ear.ids().at(-1)).toBe(last.id);
      const [skipped] = ear.of('skipped');
      expect(Date.parse(skipped?.since ?? '')).toBeLessThan(Date.parse(skipped?.until ?? ''));
    } finally {
      await ear.close();
      await proxy.close();
    }
  },
);

async function postTooMany(type: string): Promise<void> {
  await postMany(source, 10_500, type);
}

async function madeAnew(type: string): Promise<void> {
  await relay.stack.dropTopics(relay.stack.topic(type).name);
  await relay.stack.relay('topics', 'create');
  await until('it can be written', async () => (await source.post(anEnvelope({ type }))).status === 202);
  await postMany(source, 40, type);
}
