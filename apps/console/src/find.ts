import { Refused } from '@relay/ui';
import { loadClients } from './names.js';
import { api } from './session.js';

export interface Found {
  /** Pages of what was found. */
  readonly places: readonly { readonly path: readonly string[]; readonly name: string }[];
  /** The search over attempts, where the text could be a host. */
  readonly attempts: { readonly host: string } | undefined;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const HOST = /^[\w-]+(?:\.[\w-]+)+(?::\d+)?$|^localhost(?::\d+)?$|^\[[0-9a-f:]+\](?::\d+)?$/i;

/** Finds an envelope, a webhook, a dead letter, clients by id or name, webhooks by host. @throws Refused when the relay is away */
export async function find(text: string): Promise<Found> {
  if (UUID.test(text)) return byId(text.toLowerCase());
  if (/^[\w-]+_[0-9a-f-]{36}_/i.test(text))
    return { places: [{ path: ['dead-letters', text], name: 'Dead letter' }], attempts: undefined };
  const lower = hostIn(text).toLowerCase();
  const [{ clients }, { webhooks }] = await Promise.all([
    loadClients(),
    api.call('listWebhooks', { query: { limit: 10_000 } }),
  ]);
  const named = clients.filter(({ clientId, name }) => clientId === text || name.toLowerCase().includes(lower));
  const there = webhooks.filter(({ origin }) => new URL(origin).host.toLowerCase().includes(lower));
  const isHost = HOST.test(lower);
  return {
    places: [
      ...named.map(({ clientId, name, kind }) => ({ path: ['clients', clientId], name: `${kind} ${name}` })),
      ...there.map(({ id, origin, eventType }) => ({ path: ['webhooks', id], name: `webhook ${origin} ${eventType}` })),
    ].slice(0, 100),
    attempts: isHost ? { host: lower } : undefined,
  };
}

const hostIn = (text: string): string => (URL.canParse(text) && text.includes('://') ? new URL(text).host : text);

async function byId(id: string): Promise<Found> {
  const path = { id };
  const asked = [
    ['envelopes', 'Envelope', api.call('readEnvelopeStory', { path })],
    ['webhooks', 'Webhook', api.call('readWebhook', { path })],
  ] as const;
  const found = await Promise.allSettled(
    asked.map(async ([section, name, answer]) => {
      try {
        await answer;
        return [{ path: [section, id], name: `${name} ${id}` }];
      } catch (error) {
        if (error instanceof Refused && error.status === 404) return [];
        throw error;
      }
    }),
  );
  const places = found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
  const fault = found.find((each) => each.status === 'rejected');
  // What one store knows is enough, though another be away.
  if (places.length === 0 && fault !== undefined) throw fault.reason;
  return { places, attempts: undefined };
}
