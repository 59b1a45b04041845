import { Inject, Injectable } from '@nestjs/common';
import { ClientStore } from '@relay/identity';
import { RedisWebhookView } from '@relay/webhooks';

/** The registrations with which records are read: the webhooks at that moment, and the partners that exist. */
@Injectable()
export class Registrations {
  /** Partners found so far. Clients are never deleted. */
  readonly #partners = new Set<string>();

  constructor(
    @Inject(RedisWebhookView) private readonly webhooks: Pick<RedisWebhookView, 'refreshTo'>,
    @Inject(ClientStore) private readonly clients: Pick<ClientStore, 'find'>,
  ) {}

  refreshTo(version: number): Promise<void> {
    return this.webhooks.refreshTo(version);
  }

  /** Returns the audiences that name partners none of whom exists. Rejects while Redis is away. */
  async strangers(audiences: readonly (readonly string[])[]): Promise<ReadonlySet<readonly string[]>> {
    const found = new Set<readonly string[]>();
    for (const audience of audiences)
      if (audience.length > 0 && !(await this.#hasPartner(audience))) found.add(audience);
    return found;
  }

  async #hasPartner(audience: readonly string[]): Promise<boolean> {
    if (audience.some((id) => this.#partners.has(id))) return true;
    for (const id of audience)
      if (id !== '' && (await this.clients.find(id))?.kind === 'partner') this.#partners.add(id);
    return audience.some((id) => this.#partners.has(id));
  }
}
