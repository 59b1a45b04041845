import { Webhook } from 'standardwebhooks';
import { mainOf } from '../support/app.js';
import { anEnvelope, type Client } from '../support/client.js';
import { CommandLine } from '../support/command-line.js';
import { Relay } from '../support/relay.js';
import { Program } from '../support/terminal.js';
import { until } from '../support/until.js';

let relay: Relay;
let source: Client;
let partner: Client;
beforeAll(async () => {
  relay = await Relay.start({ RETRY_SCHEDULE: '1s,1s,1s' });
  [source, partner] = [await relay.source(), await relay.partner('acme')];
});
afterAll(() => relay.close());

const start = (...args: string[]): Program =>
  new Program(process.execPath, [mainOf('cli'), 'listen', ...args], relay.stack.env);
const registered = async (): Promise<string[]> =>
  (await partner.request('GET', '/webhooks')).json.map((webhook) => String(webhook['eventType']));
const linesOf = (program: Program): Record<string, unknown>[] =>
  program.output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

it('forwards what arrives with the same bytes and headers, answers as it is answered, and leaves nothing behind', async () => {
  relay.receiver.plan('/dev', { status: 500 }, { status: 204 });
  const listening = start('--type', 'task.created,plan.created', '--forward-to', relay.receiver.url('/dev'), '--json');
  await listening.prints(/"listening"/);
  expect((await registered()).toSorted()).toEqual(['plan.created', 'task.created']);
  const [{ webhooks = [] } = {}] = linesOf(listening) as { webhooks?: { id: string; eventType: string }[] }[];
  const id = webhooks.find(({ eventType }) => eventType === 'task.created')?.id;
  const secret = String((await partner.request('GET', `/webhooks/${id}/secret`)).json['secret']);

  const envelope = anEnvelope();
  const text = JSON.stringify(envelope, undefined, 1);
  expect((await source.post(text)).status).toBe(202);
  const arrived = await until('both attempts are printed', () => {
    const lines = linesOf(listening).filter((line) => line['id'] === envelope.id);
    return lines.length === 2 && lines;
  });
  const same = { id: envelope.id, type: 'task.created', verified: true };
  expect(arrived).toEqual([
    expect.objectContaining({ ...same, attempt: 1, status: 500 }),
    expect.objectContaining({ ...same, attempt: 2, status: 204 }),
  ]);
  const forwarded = relay.receiver.at('/dev');
  expect(forwarded.map(({ body }) => body.toString())).toEqual([text, text]);
  const headers = forwarded[1]?.headers as Record<string, string>;
  new Webhook(secret).verify(text, headers);
  expect(headers).toMatchObject({ 'relay-attempt': '2', 'user-agent': expect.stringMatching(/^partner-relay\//) });
  expect(headers['x-api-key']).toMatch(/^listen_/);

  expect(await listening.end('SIGINT')).toBe(0);
  expect(linesOf(listening).at(-1)).toEqual({ deleted: webhooks.map((webhook) => webhook.id) });
  expect(await registered()).toEqual([]);
});

it('listens for every type, prints and answers 200 without an address to forward to, until SIGTERM', async () => {
  const listening = start('--partner', 'acme');
  await listening.prints(
    /^14 webhooks of partner_\S+ at http:\/\/127\.0\.0\.1:\d+; each delivery is answered 200\./m,
    30_000,
  );
  const envelope = anEnvelope({ type: 'tax_return.filed' });
  expect((await source.post(envelope)).status).toBe(202);
  await listening.prints(
    new RegExp(`tax_return\\.filed ${envelope.id} attempt 1, signature verified, answered 200 in`),
  );
  expect(await listening.end('SIGTERM')).toBe(0);
  expect(listening.output).toMatch(/^14 webhooks deleted\.$/m);
  expect(await registered()).toEqual([]);
});

it('takes its webhooks away when nobody reads what it prints any more', async () => {
  const command = `"${process.execPath}" "${mainOf('cli')}" listen --type plan.created; echo "ended with $?" >&2`;
  const listening = new Program('bash', ['-c', `{ ${command}; } | head -n 1`], relay.stack.env);
  await listening.prints(/^1 webhook of /m, 30_000);
  expect(await registered()).toEqual(['plan.created']);
  // `head` has gone: the next line finds nobody.
  expect((await source.post(anEnvelope({ type: 'plan.created' }))).status).toBe(202);
  await listening.prints(/^ended with 0$/m);
  expect(await registered()).toEqual([]);
});

it('says what it lacks, and registers nothing then', async () => {
  const cli = new CommandLine(relay.stack.env);
  const closed = await cli.run(['listen'], { EGRESS_ALLOW_CIDRS: '' });
  expect(closed).toMatchObject({ code: 1, out: '', err: expect.stringContaining('Set EGRESS_ALLOW_HTTP=true') });
  await relay.partner('beta');
  const unclear = await cli.run(['listen']);
  expect(unclear).toMatchObject({ code: 1, out: '', err: expect.stringContaining('There are several partners') });
  expect(await registered()).toEqual([]);
});
