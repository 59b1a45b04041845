import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Kafka, logLevel } from 'kafkajs';
import { mainOf } from '../support/app.js';
import { anEnvelope } from '../support/client.js';
import { CommandLine } from '../support/command-line.js';
import { partner, relay, source, startRelayWithServers } from '../support/shared-relay.js';
import { until } from '../support/until.js';

const KEY = '{relay:0}:registry';
/** Enough that a snapshot has many records. */
const OTHERS = 400;

let cli: CommandLine;

startRelayWithServers({ RETRY_SCHEDULE: '1s,1s,1s', WEBHOOK_CHANGES: '100000', WEBHOOKS_PER_ORIGIN: '1000' });

beforeAll(async () => {
  cli = new CommandLine(relay.stack.env);
  await partner.register({ eventType: 'task.created', endPointUrl: relay.receiver.url('/hook'), apiKey: 'k' });
  for (let n = 0; n < OTHERS; n += 20)
    await Promise.all(
      Array.from({ length: 20 }, (_, m) => {
        const endPointUrl = relay.receiver.url(`/other/${n + m}`);
        const eventType = n % 40 === 0 ? 'plan.created' : 'plan.updated';
        return partner.register({ eventType, endPointUrl, apiKey: 'x'.repeat(2_000) });
      }),
    );
});

async function startOfLog(): Promise<number> {
  const admin = new Kafka({
    brokers: String(relay.stack.env['KAFKA_BROKERS']).split(','),
    logLevel: logLevel.NOTHING,
  }).admin();
  await admin.connect();
  try {
    const topic = `${relay.stack.env['KAFKA_TOPIC_PREFIX'] ?? ''}relay.registry`;
    return Number((await admin.fetchTopicOffsets(topic))[0]?.low);
  } finally {
    await admin.disconnect();
  }
}
const listed = async (): Promise<string[]> => {
  const answer = await partner.request('GET', '/webhooks?limit=1000');
  expect(answer.status).toBe(200);
  return answer.json.map((webhook) => String(webhook['id'])).toSorted();
};
const arrives = async (): Promise<void> => {
  const envelope = anEnvelope();
  await until('it is accepted', async () => (await source.post(envelope)).status === 202);
  await until('it is delivered', () => relay.receiver.ids('/hook').includes(envelope.id), {
    seen: () => relay.worker.log.slice(-20),
  });
};
/** All of Redis that is a view of the registry, but what a snapshot is not to bring back. */
const view = async (): Promise<unknown> => {
  const { redis } = relay.stack;
  return {
    webhooks: await redis.hgetall('{relay:0}:webhooks'),
    sealed: await redis.hgetall('{relay:0}:webhooks:sealed'),
    clients: await redis.hgetall('{relay:0}:clients'),
    version: await redis.get(`${KEY}:version`),
    urls: await redis.hgetall(`{relay:0}:webhooks:urls:${partner.clientId}`),
    order: await redis.zrange(`{relay:0}:webhooks:partner:${partner.clientId}`, '0', '-1', 'WITHSCORES'),
  };
};
async function emptied(): Promise<void> {
  await relay.ingress.stop();
  await relay.stack.redis.del(...(await relay.stack.redis.keys('{relay:0}:webhooks*')));
  await relay.stack.redis.del(...(await relay.stack.redis.keys('{relay:0}:clients*')));
  await relay.stack.redis.del(...(await relay.stack.redis.keys(`${KEY}:*`)));
  relay.ingress.start();
  await relay.ingress.ready();
}

it('a snapshot brings back what older records of the log said, which are gone', async () => {
  const before = [await listed(), await view()];
  const outcome = await cli.json<{ kind: string; begin: number; freed: boolean }>(['registry', 'compact']);
  expect(outcome).toMatchObject({ kind: 'compacted', freed: true });
  expect(await startOfLog()).toBe(outcome.begin);
  await emptied();
  expect([await listed(), await view()]).toEqual(before);
  await arrives();
});

/** Where the process that makes a snapshot is killed: as soon as Redis shows this of it. */
const steps: readonly (readonly [string, () => Promise<boolean>])[] = [
  ['at its beginning', async () => (await relay.stack.redis.exists(`${KEY}:snapshot`)) === 1],
  ['in its middle', async () => Number(await relay.stack.redis.hget(`${KEY}:snapshot`, 'next')) > 16],
  ['behind its end', () => hasEnded()],
];
let lastId: string | null = null;
const hasEnded = async (): Promise<boolean> => (await relay.stack.redis.hget(`${KEY}:snapshot:last`, 'id')) !== lastId;

it.each(steps)(
  'no registration is lost when the process that makes a snapshot is killed %s',
  async (_when, isThere) => {
    lastId = await relay.stack.redis.hget(`${KEY}:snapshot:last`, 'id');
    const start = await startOfLog();
    const before = await view();
    const child = spawn(process.execPath, [mainOf('cli'), 'registry', 'compact'], {
      env: { ...process.env, ...relay.stack.env },
      stdio: 'ignore',
    });
    const gone = once(child, 'exit');
    // Too short to be found by polling now and then.
    while (child.exitCode === null && !(await isThere()));
    child.kill('SIGKILL');
    await gone;
    const ended = await hasEnded();
    process.stdout.write(`killed: ${ended ? 'its end was applied' : 'it had no end'}\n`);
    if (!ended) expect(await startOfLog()).toBe(start);
    // Changes go on at the latest when somebody takes it for dead.
    const body = { eventType: 'message.created', endPointUrl: relay.receiver.url(`/late/${Date.now()}`), apiKey: 'k' };
    const answer = await until('a change is taken', async () => {
      const posted = await partner.request('POST', '/webhooks', body);
      return posted.status === 201 && posted;
    });
    const id = String(answer.json['id']);
    expect(await relay.stack.redis.exists(`${KEY}:snapshot`)).toBe(0);
    expect((await partner.request('DELETE', `/webhooks/${id}`)).status).toBe(204);
    await emptied();
    const after = (await view()) as { version: string };
    expect({ ...after, version: '' }).toEqual({ ...(before as object), version: '' });
    await arrives();
  },
);

it('the registry is compacted by a worker when its log has grown, and deliveries go on', async () => {
  const start = await startOfLog();
  await relay.worker.stop();
  relay.worker.start({ env: { REGISTRY_SNAPSHOT_AFTER: '10' } });
  await relay.worker.ready();
  const ids = await listed();
  const before = await view();
  // Four for each webhook and client there is are needed, whatever the setting says.
  for (let round = 0; round < 5; round += 1)
    for (let at = 0; at < ids.length; at += 20)
      await Promise.all(
        ids.slice(at, at + 20).map(async (id) => {
          const body = { endPointName: `round ${round}` };
          await until(
            'it is changed',
            async () => (await partner.request('PATCH', `/webhooks/${id}`, body)).status === 200,
          );
        }),
      );
  await until('older records are gone', async () => (await startOfLog()) > start, {
    seen: () => relay.worker.log.slice(-20),
  });
  expect(Object.keys(((await view()) as { webhooks: object }).webhooks)).toHaveLength(
    Object.keys((before as { webhooks: object }).webhooks).length,
  );
  const shown = await view();
  await emptied();
  expect(await view()).toEqual(shown);
  await arrives();
});
