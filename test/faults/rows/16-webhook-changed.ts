import { setTimeout as delay } from 'node:timers/promises';
import { anEnvelope } from '../../support/client.js';
import { until } from '../../support/until.js';
import type { Fault } from '../engine/fault.js';
import type { Trial } from '../engine/trial.js';

const TYPE = 'recommendation.created';
/** Fewer than ten: so many failures in a row would open the endpoint's breaker. */
const JOBS = 8;

/** Envelopes of a type of their own, to an endpoint that fails after its first answer, until each waits as a job. */
async function waiting(trial: Trial, path: string): Promise<{ id: string; ids: string[] }> {
  // An origin that has never answered 2xx would get one attempt a second.
  trial.receiver.plan(path, { status: 204 }, { status: 500 });
  const id = await trial.partner.register({ eventType: TYPE, endPointUrl: trial.receiver.url(path), apiKey: 'key' });
  const source = await trial.client('source', 'changing');
  const post = async (): Promise<string> => {
    const envelope = anEnvelope({ id: trial.random.uuid(), type: TYPE });
    const { status } = await source.post(envelope);
    if (status !== 202) throw new Error(`answered ${status}`);
    return envelope.id;
  };
  await post();
  await until('the endpoint has answered 2xx', () => trial.receiver.delivered(path).length === 1);
  const ids: string[] = [];
  for (let job = 0; job < JOBS; job += 1) ids.push(await post());
  await until('each was attempted', () => ids.every((each) => trial.receiver.ids(path).includes(each)));
  return { id, ids };
}

export const faults: readonly Fault[] = [
  {
    row: 16,
    name: 'webhook-updated',
    does: `${JOBS} deliveries to a failing endpoint wait under load; its webhook gets another URL`,
    duplicates: 'none',
    settings: { RETRY_SCHEDULE: '3s,3s,3s,3s' },
    run: async (trial) => {
      const { id, ids } = await waiting(trial, '/old');
      await update(trial, id);
      const before = trial.receiver.at('/old').length;
      await until(
        'all that waited is delivered to the new URL',
        () => new Set(trial.receiver.delivered('/new')).size === ids.length,
        {
          withinMs: 30_000,
        },
      );
      const late = trial.receiver.at('/old').length - before;
      if (late > 0) throw new Error(`${late} attempts went to the old URL after the update`);
      const twice = trial.receiver.delivered('/new').length - ids.length;
      if (twice > 0) throw new Error(`${twice} duplicates at the new URL`);
    },
  },
  {
    row: 16,
    name: 'webhook-deleted',
    does: `${JOBS} deliveries to a failing endpoint wait under load; its webhook is deleted: they end as cancelled`,
    duplicates: 'none',
    settings: { RETRY_SCHEDULE: '3s,3s,3s,3s' },
    run: async (trial) => {
      const { id, ids } = await waiting(trial, '/doomed');
      const { status } = await trial.partner.request('DELETE', '/webhooks', { eventType: TYPE, id });
      if (status !== 200) throw new Error(`the deletion was answered ${status}`);
      const before = trial.receiver.at('/doomed').length;
      await delay(8_000);
      const late = trial.receiver.at('/doomed').length - before;
      if (late > 0) throw new Error(`${late} attempts were made after the deletion`);
      for (const envelopeId of ids.slice(0, 3)) {
        const told = async () => JSON.stringify(await trial.stack.relay('envelopes', 'get', envelopeId));
        await until(`${envelopeId} is told as cancelled`, async () => (await told()).includes('"cancelled"'), {
          seen: told,
        });
      }
    },
  },
];

async function update(trial: Trial, id: string): Promise<void> {
  const answer = await trial.partner.request('PUT', '/webhooks', {
    id,
    eventType: TYPE,
    endPointUrl: trial.receiver.url('/new'),
    apiKey: 'key',
  });
  if (answer.status !== 200) throw new Error(`the update was answered ${answer.status} ${answer.text}`);
}
