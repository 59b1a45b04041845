import { setTimeout as delay } from 'node:timers/promises';
import { UNMARKED_MS } from '../faults/engine/oracle.js';
import type { App } from '../support/app.js';
import { anEnvelope } from '../support/client.js';
import { partner, relay, source, startRelay } from '../support/shared-relay.js';
import { print, tally } from '../support/tally.js';
import { until } from '../support/until.js';

const COUNT = 5_000;
const CONNECTIONS = 16;
const ENDPOINT_CONCURRENCY = 64;
/** Other specs share the cores: a flush may take so much longer than on a machine of its own. */
const BUSY_MS = 500;
const PATH = '/endpoint';

startRelay({
  ENDPOINT_CONCURRENCY: String(ENDPOINT_CONCURRENCY),
  RETRY_SCHEDULE: Array.from({ length: 10 }, () => '1s').join(','),
});

/**
 * Posts envelopes and, as a source should, repeats one under its id after a 503 or a broken connection until it is
 * answered 202.
 * @param onAccepted told how many are accepted so far
 */
async function send(onAccepted: (accepted: number) => void): Promise<{ accepted: Set<string>; repeated: number }> {
  const sent = { accepted: new Set<string>(), repeated: 0 };
  let left = COUNT;
  const connection = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const envelope = anEnvelope();
      for (;;) {
        const status = await source.post(envelope).then(
          (answer) => answer.status,
          () => 0,
        );
        if (status === 202) break;
        if (status !== 503 && status !== 0) throw new Error(`an envelope was answered ${status}`);
        sent.repeated += 1;
        await delay(100);
      }
      sent.accepted.add(envelope.id);
      onAccepted(sent.accepted.size);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, connection));
  return sent;
}

it('no envelope of 5,000 is lost when the worker is killed in the middle of them, and then the ingress', async () => {
  const { receiver, worker, ingress } = relay;
  // Some fail, and all take a while: what runs at the kill is lost if it was settled too early.
  let requests = 0;
  receiver.decide(PATH, () => ({ status: (requests += 1) % 8 === 0 ? 500 : 204, delayMs: 20 }));
  await partner.register({ eventType: 'task.created', endPointUrl: receiver.url(PATH), apiKey: 'key' });

  const kills = new Map<App, { at: number; restarted: Promise<void> }>();
  const kill = (app: App): void => {
    if (kills.has(app)) return;
    const at = performance.now();
    kills.set(app, { at, restarted: app.kill().then(() => app.start()) });
  };
  const sent = await send((accepted) => {
    if (accepted >= COUNT / 3) kill(worker);
    if (accepted >= (COUNT * 2) / 3) kill(ingress);
  });
  expect([...kills.keys()]).toEqual([worker, ingress]);
  await Promise.all([...kills.values()].map(({ restarted }) => restarted));

  const counts = () => tally(sent.accepted, receiver.delivered(PATH));
  await until('every accepted envelope is delivered', () => counts().lost === 0, { withinMs: 120_000, seen: counts });
  await delay(1_000); // what a duplicate needs to arrive
  const killedAt = kills.get(worker)?.at ?? 0;
  const unmarked = receiver.at(PATH).filter(({ at }) => at > killedAt - UNMARKED_MS - BUSY_MS && at <= killedAt).length;
  print('kill -9 of the worker, then of the ingress', { ...counts(), unmarked, repeatedBySource: sent.repeated });
  const { duplicates, ...others } = counts();
  expect(others).toEqual({ accepted: COUNT, received: COUNT, lost: 0 });
  expect(duplicates).toBeLessThanOrEqual(ENDPOINT_CONCURRENCY + unmarked);
});
