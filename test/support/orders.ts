import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from './client.js';
import { Document } from './document.js';
import type { Relay } from './relay.js';
import { until } from './until.js';

/**
 * Applies `order.paid` of docs/tutorial.md, and registers a webhook for it for each of two partners, at `/own` and `/other`.
 * @param folder folder for the file of event types
 * @returns the partner of `/own`
 */
export async function ordersPartner(relay: Relay, folder: string): Promise<Client> {
  const file = join(folder, 'event-types.yaml');
  writeFileSync(file, new Document('docs/tutorial.md').block('yaml', 'order.paid'));
  await relay.stack.relay('event-types', 'apply', '-f', file);
  const [own, other] = [await relay.partner(), await relay.partner('other')];
  for (const [each, path] of [
    [own, '/own'],
    [other, '/other'],
  ] as const) {
    const webhook = { eventType: 'order.paid', endPointUrl: relay.receiver.url(path), apiKey: 'key' };
    await until('it is registered', async () => (await each.request('POST', '/webhooks', webhook)).status === 201);
  }
  return own;
}
