import type { Webhook } from '@relay/webhooks';
import { APPLIED, TOPIC } from './simulated-group.js';

const SECRET = `whsec_${Buffer.alloc(24).toString('base64')}`;

/** Three webhooks, two of them at one endpoint, and one of the applied type. */
const REGISTERED: readonly Webhook[] = (['p1', 'p2', 'p2', 'p1'] as const).map((partnerId, n) => ({
  id: `00000000-0000-4000-8000-0000000000a${n}`,
  partnerId,
  eventType: n === 3 ? APPLIED : TOPIC,
  url: `https://${partnerId}.example/${n}`,
  origin: `https://${partnerId}.example`,
  endpoint: `${partnerId} https://${partnerId}.example`,
  breakerKey: `${partnerId} https://${partnerId}.example ${n}`,
  version: 1,
  createdAt: 0,
  status: 'active',
  disabledReason: undefined,
  opened: async () => ({ credential: () => ({ kind: 'apiKey', apiKey: 'k' }), secrets: () => [SECRET] }),
}));

export const WEBHOOK_IDS = REGISTERED.slice(0, 3).map(({ id }) => id);
export const APPLIED_WEBHOOK = REGISTERED[3] as Webhook;

/** The registrations as every worker knows them at once: they are a view of a log of their own. */
export class SimulatedWebhooks {
  readonly disabled = new Set<string>();
  readonly deleted = new Set<string>();
  readonly #versions = new Map<string, number>();

  /** Another credential, say. It brings back what was disabled. */
  update(id: string): void {
    this.#versions.set(id, (this.#versions.get(id) ?? 1) + 1);
    this.disabled.delete(id);
  }

  find(id: string): Webhook | undefined {
    const found = REGISTERED.find((webhook) => webhook.id === id);
    if (found === undefined) throw new Error(`no webhook ${id}`);
    if (this.deleted.has(id)) return undefined;
    const version = this.#versions.get(id) ?? found.version;
    return { ...found, version, status: this.disabled.has(id) ? 'disabled' : 'active' };
  }

  matching(type: string, audience: readonly string[]): readonly Webhook[] {
    const all = REGISTERED.filter(({ eventType }) => eventType === type).flatMap(({ id }) => this.find(id) ?? []);
    return all.filter(({ partnerId }) => audience.length === 0 || audience.includes(partnerId));
  }
}
