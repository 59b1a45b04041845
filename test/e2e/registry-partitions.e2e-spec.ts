import { anEnvelope } from '../support/client.js';
import { CommandLine } from '../support/command-line.js';
import { Relay } from '../support/relay.js';
import { until } from '../support/until.js';

const type = 'plan.updated';

let relay: Relay;
afterEach(() => relay?.close());

it('the relay goes on with the first partition of a registry that was given others, even after a restart, and says so', async () => {
  relay = await Relay.start();
  const { admin } = relay.stack;
  const { name: topic } = relay.stack.topic('relay.registry');
  const [source, partner] = await Promise.all([relay.source(), relay.partner()]);
  const register = (path: string): Promise<string> =>
    partner.register({ eventType: type, endPointUrl: relay.receiver.url(path), apiKey: 'k' });
  await register('/before');
  await admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] });
  await until('they have leaders', async () => (await admin.fetchTopicOffsets(topic).catch(() => [])).length === 3);

  await register('/while-running');
  await Promise.all([relay.ingress.stop(), relay.worker.stop()]);
  for (const app of [relay.ingress, relay.worker]) app.start();
  await Promise.all([relay.ingress.ready(), relay.worker.ready()]);
  await register('/after');
  const envelope = anEnvelope({ type });
  expect((await source.post(envelope)).status).toBe(202);
  const paths = ['/before', '/while-running', '/after'];
  const got = () => paths.filter((path) => relay.receiver.delivered(path).length > 0);
  await until('each webhook has it', () => got().length === paths.length, { seen: got });

  for (const app of [relay.ingress, relay.worker])
    expect(app.log.filter((line) => line.includes('"registry.more_partitions"'))).not.toEqual([]);
  const cli = new CommandLine({ ...relay.stack.env, PUBLIC_URL: relay.ingress.url });
  const check = await cli.run(['topics', 'check']);
  expect(check).toMatchObject({ code: 0 });
  expect(check.out).toContain(`${topic} has 3 partitions`);
  const { faults, findings } = await cli.json<{ faults: number; findings: Record<string, string>[] }>(['doctor']);
  expect(faults).toBe(0);
  expect(findings).toContainEqual(
    expect.objectContaining({ check: 'topics', state: 'warning', text: expect.stringContaining(topic) }),
  );
});
