// npm run bench -- parking: what a webhook that is away costs Redis, and how fast it gets what waited in the log for it.
import { setTimeout as delay } from 'node:timers/promises';
import { Fault } from '../lib/process.mjs';
import { register, startRoles, startStack, tokenOf } from './system.mjs';
import { startTool } from './tool.mjs';

const COUNT = 1_000_000;
/** Posted at once: the load tool remembers when each was sent. */
const SLICE = 50_000;
const PATIENCE_MS = 60_000;
/** All that Redis holds for a parked webhook: its ranges, what waits in the queue, and what was dropped inside a range. */
const KEYS = ['parking', 'parked', 'dropped', 'waiting', 'held', 'deliveries'];
const GOAL_BYTES = 5 * 1024 * 1024;

/** The webhook is disabled by a 410, comes back after all envelopes, and must get each of them. */
export async function parking(own, { scale }, signal, ends) {
  const count = Math.round(COUNT * scale);
  const stack = await startStack(own, signal);
  const tools = { load: startTool('load'), endpoints: startTool('endpoints') };
  for (const tool of Object.values(tools)) ends.push(() => tool.stop());
  const roles = await startRoles(stack, signal);
  ends.push(() => roles.stop());
  const measure = async () => {
    const target = { port: Number(stack.ports.ingress.PORT), token: await tokenOf(stack.url, stack.source) };
    const [healthy] = await tools.endpoints.ask('listen', { count: 1 });
    const away = await tools.endpoints.ask('listenAway');
    await register(stack, [healthy, away]);
    const post = (some) => tools.load.ask('post', { ...target, count: some, connections: 64 });
    await post(1);
    await delay(3_000); // its 410 disables it
    const redis = await open(stack.redisPort);
    try {
      const ids = [];
      for (let left = count; left > 0; left -= SLICE) {
        const { accepted } = await post(Math.min(SLICE, left));
        for (const id of accepted.keys()) ids.push(id);
        console.log(`${ids.length} of ${count} accepted`);
      }
      await tools.endpoints.ask('complete', { expected: ids.length + 1, patienceMs: PATIENCE_MS });
      await delay(1_000);
      const { bytes, most } = await bytesOf(redis);
      const asked = await tools.endpoints.ask('awayAsked');
      if (asked !== 1) throw new Fault(`the webhook that is away was called ${asked} times`);
      await tools.endpoints.ask('comeBack');
      const from = performance.now();
      await update(stack, away);
      const { delivered, repeats } = await tools.endpoints.ask('completeAway', {
        expected: ids.length,
        patienceMs: PATIENCE_MS,
      });
      const seconds = (performance.now() - from) / 1_000;
      const lost = ids.filter((id) => !delivered.has(id)).length;
      const rate = Math.round(delivered.size / seconds);
      const verdict = bytes <= GOAL_BYTES ? 'met' : 'missed';
      console.log(`\naway for ${ids.length} envelopes: Redis holds ${bytes} bytes for it (goal ≤ 5 MiB: ${verdict})`);
      console.log(`most of it in ${most.key}: ${most.bytes}`);
      console.log(`caught up in ${seconds.toFixed(0)} s, ${rate}/s, lost ${lost}, ${repeats} twice\n`);
      return lost === 0 && bytes <= GOAL_BYTES ? 0 : 1;
    } finally {
      redis.disconnect();
    }
  };
  return Promise.race([roles.broken, measure()]);
}

async function open(port) {
  const { Redis } = await import('ioredis');
  return new Redis(Number(port));
}

/** What the keys hold together, and the one that holds most: a healthy webhook that was slow for a moment leaves its jobs here too. */
async function bytesOf(redis) {
  let sum = 0;
  let most = { key: 'nothing', bytes: 0 };
  for (const name of KEYS)
    for (const key of [...(await redis.keys(`{relay:0}:${name}`)), ...(await redis.keys(`{relay:0}:${name}:*`))]) {
      const bytes = (await redis.memory('USAGE', key, 'SAMPLES', '0')) ?? 0;
      sum += bytes;
      if (bytes > most.bytes) most = { key, bytes };
    }
  return { bytes: sum, most };
}

/** Any update brings a disabled webhook back. */
async function update({ url, partner }, endPointUrl) {
  const headers = { authorization: `Bearer ${await tokenOf(url, partner)}`, 'content-type': 'application/json' };
  const listed = await (await fetch(`${url}/webhooks`, { headers })).json();
  const { id } = listed.find((webhook) => webhook.endPointUrl === endPointUrl);
  const answer = await fetch(`${url}/webhooks/${id}/enable`, {
    method: 'POST',
    headers: { authorization: headers.authorization },
  });
  if (!answer.ok) throw new Fault(`enable: ${answer.status} ${await answer.text()}`);
}
