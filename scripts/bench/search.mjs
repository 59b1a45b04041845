// Bytes for each attempt in the index, and how soon it finds: the built store's own way of writing and searching, on a file of its own.
import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { builtLib } from './own-redis.mjs';

const COUNT = 1_000_000;
/** As many as the follower adds at once, about. */
const BATCH = 1_000;
const ASKED = 200;
const [PARTNERS, WEBHOOKS, HOSTS] = [200, 2_000, 500];
const TYPES = ['task.created', 'task.updated', 'plan.created', 'plan.updated', 'message.created'];
const BEGIN = Date.now() - 7 * 86_400_000;
/** A week of attempts. */
const STEP_MS = (7 * 86_400_000) / COUNT;

export async function search(folder, { scale }, signal, ends) {
  const { AttemptSearch, AttemptStore } = await builtLib('search');
  mkdirSync(folder, { recursive: true });
  const store = await AttemptStore.open(join(folder, 'search.sqlite'), 'bench', 1e12, () => undefined);
  ends.push(() => store.discard());
  const count = Math.ceil(COUNT * scale);
  const webhooks = Array.from({ length: WEBHOOKS }, () => randomUUID());
  const kept = [];
  const begun = performance.now();
  for (let from = 0; from < count; from += BATCH) {
    signal.throwIfAborted();
    const attempts = Array.from({ length: Math.min(BATCH, count - from) }, (_, n) => anAttempt(from + n, webhooks));
    kept.push(attempts[0]);
    await store.add(attempts, new Map());
  }
  const seconds = (performance.now() - begun) / 1_000;
  const bytes = await store.bytes();
  console.log(
    `${count} attempts in ${seconds.toFixed(1)} s (${Math.round(count / seconds)}/s), ${(bytes / count).toFixed(1)} bytes each; ${cpus().length} cores, Node ${process.version}`,
  );
  console.log(`filter                          found    p50 ms   p95 ms   max ms   (${ASKED} questions each)`);
  let isSlow = false;
  for (const [name, queryOf] of Object.entries(FILTERS)) {
    const times = [];
    let found = 0;
    for (let n = 0; n < ASKED; n += 1) {
      const query = AttemptSearch.parse(queryOf(kept[Math.floor(Math.random() * kept.length)]));
      const before = performance.now();
      const page = await store.find(query);
      times.push(performance.now() - before);
      found += page.attempts.length;
    }
    times.sort((a, b) => a - b);
    const at = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))];
    isSlow ||= at(0.95) > 300;
    const cells = [at(0.5), at(0.95), at(1)].map((ms) => ms.toFixed(1).padStart(8));
    console.log(`${name.padEnd(30)} ${(found / ASKED).toFixed(1).padStart(6)} ${cells.join(' ')}`);
  }
  return isSlow ? 1 : 0;
}

const aroundOf = ({ at }) => ({
  since: new Date(Date.parse(at) - 3_600_000).toISOString(),
  until: new Date(Date.parse(at) + 3_600_000).toISOString(),
});

const FILTERS = {
  'nothing (newest)': () => ({}),
  envelope: ({ envelopeId }) => ({ envelope: envelopeId }),
  delivery: ({ deliveryId }) => ({ delivery: deliveryId }),
  webhook: ({ webhookId }) => ({ webhook: webhookId }),
  partner: ({ partnerId }) => ({ partner: partnerId }),
  type: ({ eventType }) => ({ type: eventType }),
  host: ({ host }) => ({ host }),
  'status 503': () => ({ status: '503' }),
  'class 5xx': () => ({ status: '5xx' }),
  'class 2xx': () => ({ status: '2xx' }),
  error: () => ({ error: 'timeout' }),
  'outcome dead-letter': () => ({ outcome: 'dead-letter' }),
  time: aroundOf,
  'webhook, time': (attempt) => ({ webhook: attempt.webhookId, ...aroundOf(attempt) }),
  'partner, 5xx': ({ partnerId }) => ({ partner: partnerId, status: '5xx' }),
  'type, a status that is nowhere': ({ eventType }) => ({ type: eventType, status: '418' }),
  'type, 2xx, too long ago': ({ eventType }) => ({
    type: eventType,
    status: '2xx',
    until: new Date(BEGIN).toISOString(),
  }),
  'a type’s cancelled of a host': ({ eventType, host }) => ({ type: eventType, host, outcome: 'cancelled' }),
  'an error that is nowhere': () => ({ error: 'none' }),
  '201 among 2xx, never there': () => ({ status: '201' }),
};

/** One in twenty fails: half of them with a status, half without an answer. */
function anAttempt(n, webhooks) {
  const envelopeId = randomUUID();
  const hook = Math.floor(Math.random() * WEBHOOKS);
  const webhookId = webhooks[hook];
  const at = BEGIN + Math.floor(n * STEP_MS);
  const kind = Math.floor(Math.random() * 40);
  const failed =
    kind === 0
      ? { status: Math.random() < 0.5 ? 500 : 503, detail: 'answered 503', answer: 'The service is not available now.' }
      : kind === 1
        ? { status: undefined, error: 'timeout', detail: 'no answer within 15000 ms' }
        : undefined;
  return {
    deliveryId: `${webhookId}_${envelopeId}_0123456789abcdef_0_${at - 40}`,
    envelopeId,
    webhookId,
    eventType: TYPES[hook % TYPES.length],
    partnerId: `partner_${String(hook % PARTNERS).padStart(22, 'x')}`,
    host: `endpoint-${hook % HOSTS}.example`,
    at: new Date(at).toISOString(),
    attempt: 1,
    durationMs: 20 + (n % 200),
    status: 204,
    outcome: failed === undefined ? 'delivered' : n % 10 === 0 ? 'dead-letter' : 'retry',
    final: failed === undefined,
    ...(failed !== undefined && { nextAt: new Date(at + 5_000).toISOString() }),
    ...failed,
  };
}
