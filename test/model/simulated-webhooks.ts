import type { Webhook } from '@relay/webhooks';

const SECRET = `whsec_${Buffer.alloc(24).toString('base64')}`;

/** Three webhooks, two of them at one endpoint. Registrations do not change: they are a view of a log of their own. */
const WEBHOOKS: readonly Webhook[] = (['p1', 'p2', 'p2'] as const).map((partnerId, n) => ({
  id: `00000000-0000-4000-8000-0000000000a${n}`,
  partnerId,
  eventType: 'task.created',
  url: `https://${partnerId}.example/${n}`,
  origin: `https://${partnerId}.example`,
  endpoint: `${partnerId} https://${partnerId}.example`,
  version: 1,
  createdAt: 0,
  status: 'active',
  credential: () => ({ kind: 'apiKey', apiKey: 'k' }),
  secrets: () => [SECRET],
}));

export const WEBHOOK_IDS = WEBHOOKS.map(({ id }) => id);

export const matching = (_eventType: string, audience: readonly string[]): readonly Webhook[] =>
  WEBHOOKS.filter(({ partnerId }) => audience.length === 0 || audience.includes(partnerId));

export function webhookById(id: string): Webhook {
  const found = WEBHOOKS.find((webhook) => webhook.id === id);
  if (found === undefined) throw new Error(`no webhook ${id}`);
  return found;
}
