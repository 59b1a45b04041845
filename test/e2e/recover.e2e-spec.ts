import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mainOf } from '../support/app.js';
import { anEnvelope } from '../support/client.js';
import { deadLettersIn } from '../support/dead-letters.js';
import { CommandLine } from '../support/command-line.js';
import { HostClock } from '../support/host-clock.js';
import { partner, relay, source, startRelayWithServers } from '../support/shared-relay.js';
import { tally } from '../support/tally.js';
import { until } from '../support/until.js';

const ENVELOPES = 2_000;
interface Letter {
  readonly id: string;
  readonly envelopeId: string;
}

startRelayWithServers({ RETRY_SCHEDULE: Array.from({ length: 12 }, () => '15s').join() });

const recover = (): Promise<unknown> => relay.stack.relay('recover');
const toldDelivered = async (): Promise<Set<string>> => {
  const records = await relay.stack.topic('relay.delivery-attempts').read();
  const attempts = records.map(({ value }) => JSON.parse(value.toString()) as { envelopeId: string; outcome: string });
  return new Set(attempts.filter(({ outcome }) => outcome === 'delivered').map(({ envelopeId }) => envelopeId));
};
const letters = (): Promise<Letter[]> => deadLettersIn(relay.stack.shards);

it('relay recover refuses while Redis knows how far the log was read', async () => {
  await partner.register({ eventType: 'task.created', endPointUrl: relay.receiver.url('/hook'), apiKey: 'k' });
  await source.post(anEnvelope());
  await until('it is delivered', () => relay.receiver.at('/hook').length === 1);
  await expect(recover()).rejects.toThrow('nothing was lost');
});

it('relay recover refuses while the clocks of its host and of Redis differ: the log of the last 7 days may be another one', async () => {
  const clock = new HostClock();
  try {
    clock.set(-192);
    const { env, nodeOptions = [] } = clock.start;
    const settings = { ...env, NODE_OPTIONS: nodeOptions.join(' ') };
    const { code, err } = await new CommandLine(relay.stack.env).run(['recover'], settings);
    expect([code, err]).toEqual([1, expect.stringContaining('of this host is 691200 s behind that of Redis')]);
  } finally {
    clock.remove();
  }
});

it('relay recover delivers all that had no final outcome, and lists dead letters but for those replayed or purged, after Redis was emptied', async () => {
  const endPointUrl = relay.receiver.url('/gone');
  const gone = await partner.register({ eventType: 'plan.created', endPointUrl, apiKey: 'k' });
  relay.receiver.plan('/gone', { status: 410 });
  await partner.register({ eventType: 'secret.rotated', endPointUrl: relay.receiver.url('/told'), apiKey: 'k' });
  const dead: string[] = [];
  for (let n = 0; n < 6; n += 1) {
    const envelope = anEnvelope({ type: 'plan.created' });
    dead.push(envelope.id);
    await source.post(envelope);
    await until('it is a dead letter', async () => (await letters()).length === n + 1);
    const isDisabled = async () => (await partner.request('GET', `/webhooks/${gone}`)).text.includes('"disabled"');
    await until('its webhook is disabled', isDisabled);
    await partner.request('POST', `/webhooks/${gone}/enable`);
  }
  const [replayed, purged] = [dead[0] ?? '', dead[1] ?? ''];
  relay.receiver.plan('/gone', { status: 204 });
  await relay.stack.relay('dead-letters', 'replay', replayed);
  await relay.stack.relay('dead-letters', 'purge', purged, '--yes');
  const left = dead.slice(2).toSorted();

  // An eighth of the envelopes fails until Redis is lost: fewer than would open the breaker.
  let failing = true;
  relay.receiver.decide('/hook', (headers) => ({
    status: failing && String(headers['webhook-id']) < '20000000' ? 500 : 204,
  }));
  const sent: string[] = [];
  const post = async (most: number): Promise<void> => {
    while (sent.length < most) {
      const envelope = anEnvelope();
      sent.push(envelope.id);
      expect((await source.post(envelope)).status).toBe(202);
    }
  };
  // Only a committed offset in each partition tells a lost Redis from a new one.
  await post(80);
  for (const type of ['plan.created', anEnvelope().type])
    await until('what was read is committed', async () => (await relay.stack.lag(type)) === 0);
  await Promise.all(Array.from({ length: 8 }, () => post(ENVELOPES)));
  await until('half of them were attempted', () => relay.receiver.at('/hook').length > ENVELOPES / 2);
  await relay.worker.kill();
  const notices = await relay.stack.topic('relay.notices').count();
  await partner.request('POST', `/webhooks/${gone}/secret/rotate`);
  const isTold = async () => (await relay.stack.topic('relay.notices').count()) > notices;
  await until('a notice waits for a worker', isTold);
  await relay.stack.redisLost();
  failing = false;
  const told = await toldDelivered();
  relay.worker.start();
  await until('the worker says what to do', async () =>
    /relay recover/.test((await relay.worker.health())?.faults['log'] ?? ''),
  );

  // Killed in the middle, whichever step that is, then run again.
  const child = spawn(process.execPath, [mainOf('cli'), 'recover'], {
    env: relay.stack.env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  await until('it goes through the envelopes', () => said.includes('reading envelopes'), {
    seen: () => said,
  });
  child.kill('SIGKILL');
  await once(child, 'exit');
  const recovering = relay.stack.shards.all.map((shard) => shard.redis.exists(shard.key('recovery')));
  expect(await Promise.all(recovering)).toContain(1);
  const report = (await recover()) as Record<string, number>;
  // A partner, a source, three webhooks, and the operator of the commands.
  expect(report).toMatchObject({ registrations: 6, deadLetters: 4 });

  await until('the notice is delivered', () => relay.receiver.delivered('/told').length === 1);
  const counts = (): ReturnType<typeof tally> => tally(new Set(sent), relay.receiver.delivered('/hook').slice(1));
  await until('nothing is lost', () => counts().lost === 0, {
    withinMs: 90_000,
    seen: () => ({ ...counts(), report, log: relay.worker.log.slice(-10) }),
  });
  process.stdout.write(`Redis emptied, recovered twice: ${JSON.stringify({ ...counts(), told: told.size })}\n`);
  // What came twice was not told as delivered when the worker was killed.
  const delivered = relay.receiver.delivered('/hook');
  const twice = delivered.filter((id, at) => delivered.indexOf(id) !== at);
  expect(twice.filter((id) => told.has(id))).toEqual([]);
  expect((await letters()).map(({ envelopeId }) => envelopeId).toSorted()).toEqual(left);
  await relay.worker.ready();
  await expect(recover()).rejects.toThrow('nothing was lost');
});

it('relay recover refuses if the registry holds nobody who can get what waits', async () => {
  const { name } = relay.stack.topic('relay.registry');
  await relay.stack.dropTopics(name);
  await relay.stack.relay('topics', 'create');
  await relay.stack.redisLost();
  await expect(recover()).rejects.toThrow('The registry holds no client');
  const recovering = relay.stack.shards.all.map((shard) => shard.redis.exists(shard.key('recovery')));
  expect(await Promise.all(recovering)).not.toContain(1);
});
