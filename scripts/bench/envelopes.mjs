// The envelopes of the benchmark: a task event of a typical size with random ids.
import { randomUUID } from 'node:crypto';

export const EVENT_TYPE = 'task.created';

export function anEnvelope(type = EVENT_TYPE) {
  const id = randomUUID();
  const payload = {
    id: randomUUID(),
    userId: randomUUID(),
    financialPlanId: randomUUID(),
    title: 'Send the signed engagement letter',
    status: 'open',
    priority: 2,
    dueOn: '2030-04-15',
    amount: '1250.10',
  };
  return { id, body: JSON.stringify({ id, type, payload }) };
}

export const ENVELOPE_BYTES = Buffer.byteLength(anEnvelope().body);
