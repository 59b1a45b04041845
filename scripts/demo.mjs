// npm run demo: shows the relay of npm start at work. Four webhooks of its partner get envelopes; one fails for a moment and heals.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ask, consoleLink, demoOf, portalLink, tokenOf } from './lib/demo.mjs';
import { home } from './lib/paths.mjs';
import { script, until } from './lib/process.mjs';

/** How long one path fails: less than the first wait of the retry schedule, and with fewer deliveries than open a breaker. */
const OUTAGE_S = 4;
const HEALED_MS = 40_000;
/** Event type, path, name and number of envelopes; the last one fails. */
const WEBHOOKS = [
  ['task.created', '/tasks', 'Tasks into the CRM', 12],
  ['plan.updated', '/plans', 'Plans for the advisers', 8],
  ['message.created', '/messages', 'Messages to the inbox', 8],
  ['tax_return.filed', '/archive', 'Archive of tax returns', 4],
];
const [, FAILING, FAILING_NAME, FAILED] = WEBHOOKS.at(-1);
const ALL = WEBHOOKS.reduce((sum, [, , , count]) => sum + count, 0);

await script(async (signal) => {
  const { relay, operations, receiver, partner, source, operator } = await demoOf(home);
  const token = await tokenOf(relay, partner);
  const states = async () => (await ask(`${relay}/webhooks/status`, { method: 'GET', token })).webhooks;
  const before = await states();
  for (const [eventType, path, endPointName] of WEBHOOKS) {
    const known = before.find((webhook) => webhook.endPointName === endPointName);
    const place = { endPointUrl: `${receiver}${path}`, apiKey: 'demo-key' };
    if (known === undefined) await ask(`${relay}/webhooks`, { token, body: { eventType, endPointName, ...place } });
    // The receiver may have another port since.
    else if (known.endPointUrl !== place.endPointUrl)
      await ask(`${relay}/webhooks/${known.id}`, { method: 'PATCH', token, body: place });
  }
  await fetch(`${receiver}/outage?path=${FAILING}&seconds=${OUTAGE_S}`, { method: 'PUT' });

  const sourceToken = await tokenOf(relay, source);
  const { eventTypes } = await ask(`${relay}/event-types`, { method: 'GET' });
  const began = performance.now();
  const envelopes = WEBHOOKS.flatMap(([type, , , count]) =>
    Array.from({ length: count }, () => {
      const { payload } = eventTypes.find(({ name }) => name === type).sample;
      return { id: randomUUID(), type, payload: { ...payload, id: randomUUID() } };
    }),
  );
  await Promise.all(envelopes.map((body) => ask(`${relay}/deliveries`, { token: sourceToken, body })));
  console.log(`${ALL} envelopes of ${WEBHOOKS.length} event types are on their way to ${WEBHOOKS.length} webhooks.`);
  console.log(`The endpoint of "${FAILING_NAME}" answers 503 for ${OUTAGE_S} s: ${FAILED} deliveries fail at first.`);
  console.log(`Portal   ${await portalLink(relay, partner)}`);
  console.log(`Console  ${await consoleLink(operations, operator)}`);

  const deliveredIn = (webhooks) => webhooks.reduce((sum, { delivered }) => sum + delivered, 0);
  const isHealed = async () => {
    await delay(250, undefined, { signal });
    return deliveredIn(await states()) >= deliveredIn(before) + ALL;
  };
  const seconds = () => ((performance.now() - began) / 1000).toFixed(1);
  console.log(
    (await until(isHealed, HEALED_MS, signal))
      ? `All ${ALL} are delivered, ${FAILED} of them by a retry, ${seconds()} s after they were sent.`
      : `After ${seconds()} s some still wait for their next attempt: the portal shows when it is due.`,
  );
});
