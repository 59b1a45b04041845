import type { Keyring } from '@relay/keyring';
import type { Credential } from './credential.js';
import type { StoredRecord, StoredWebhook } from './stored-webhook.js';
import { openCredential, openSecrets, signingAt, type Openable } from './webhook-changes.js';

export interface OpenedWebhook {
  credential(): Credential;
  /** Secrets that sign at a time, not before that of the opening, the one in force first. */
  secrets(now: number): readonly string[];
}

export interface Webhook {
  readonly id: string;
  readonly partnerId: string;
  readonly eventType: string;
  readonly url: string;
  readonly origin: string;
  /** Partner and origin: what its webhooks share, a cap and a breaker. */
  readonly endpoint: string;
  /** Endpoint and id: the key of the breaker of this webhook alone. */
  readonly breakerKey: string;
  readonly version: number;
  /** Epoch milliseconds of the registration. */
  readonly createdAt: number;
  readonly status: StoredWebhook['status'];
  readonly disabledReason: StoredWebhook['disabledReason'];
  /**
   * The sealed values of this version. Rejects with `CannotOpen` when no key opens them, and when they cannot be read or the
   * registration has changed: then no attempt may be made, and none counts.
   */
  opened(): Promise<OpenedWebhook>;
}

export function breakerKeysOf(
  of: Pick<Webhook, 'id' | 'partnerId' | 'origin'>,
): Pick<Webhook, 'endpoint' | 'breakerKey'> {
  const endpoint = `${of.partnerId} ${of.origin}`;
  return { endpoint, breakerKey: `${endpoint} ${of.id}` };
}

export function webhookOf(stored: Omit<StoredRecord, 'credentialKind'>, opened: () => Promise<OpenedWebhook>): Webhook {
  const { id, partnerId, eventType, url, origin, version, createdAt, status, disabledReason } = stored;
  const facts = { id, partnerId, eventType, url, origin, version, createdAt, status, disabledReason };
  return { ...facts, ...breakerKeysOf(stored), opened };
}

/** @throws CannotOpen */
export function openedOf(stored: Openable, keyring: Keyring, now: number): OpenedWebhook {
  const credential = openCredential(stored, keyring);
  const secrets = openSecrets(stored, keyring, now);
  return {
    credential: () => credential,
    // The older a secret, the sooner it ends.
    secrets: (at) => secrets.slice(0, signingAt(stored, at).length),
  };
}

interface Group {
  readonly members: Map<string, Webhook>;
  /** Immutable: a reader may still iterate over it. */
  snapshot: readonly Webhook[] | undefined;
}

/**
 * Webhooks in memory, grouped by event type and by event type and partner. A change takes constant time; the list of a group is
 * built again only at its next read.
 */
export class WebhookView {
  readonly #byId = new Map<string, Webhook>();
  readonly #groups = new Map<string, Group>();

  /** Registry version of this view; -1 while it is empty. */
  version = -1;

  put(webhook: Webhook): void {
    this.remove(webhook.id);
    this.#byId.set(webhook.id, webhook);
    for (const name of groupsOf(webhook)) {
      const group = this.#groups.get(name) ?? { members: new Map(), snapshot: undefined };
      group.members.set(webhook.id, webhook);
      group.snapshot = undefined;
      this.#groups.set(name, group);
    }
  }

  remove(id: string): void {
    const webhook = this.#byId.get(id);
    if (webhook === undefined) return;
    this.#byId.delete(id);
    for (const name of groupsOf(webhook)) {
      const group = this.#groups.get(name);
      if (group === undefined) continue;
      group.members.delete(id);
      group.snapshot = undefined;
      if (group.members.size === 0) this.#groups.delete(name);
    }
  }

  find(id: string): Webhook | undefined {
    return this.#byId.get(id);
  }

  /** The webhooks of this event type that belong to these partners; an empty audience means all partners. */
  matching(eventType: string, audience: readonly string[]): readonly Webhook[] {
    if (audience.length === 0) return this.#list(eventType);
    const lists = [...new Set(audience)].map((partnerId) => this.#list(`${eventType} ${partnerId}`));
    return lists.length === 1 ? (lists[0] ?? []) : lists.flat();
  }

  #list(name: string): readonly Webhook[] {
    const group = this.#groups.get(name);
    if (group === undefined) return [];
    return (group.snapshot ??= [...group.members.values()]);
  }
}

const groupsOf = ({ eventType, partnerId }: Webhook): string[] => [eventType, `${eventType} ${partnerId}`];
