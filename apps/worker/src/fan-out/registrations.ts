import { Inject, Injectable } from '@nestjs/common';
import { ClientStore } from '@relay/identity';
import { RedisWebhookView } from '@relay/webhooks';

/** The registrations with which records are read: the webhooks of their moment, and which partners there are. */
@Injectable()
export class Registrations {
  /** Clients are never deleted. */
  readonly #partners = new Set<string>();

  constructor(
    @Inject(RedisWebhookView) private readonly webhooks: Pick<RedisWebhookView, 'refreshTo'>,
    @Inject(ClientStore) private readonly clients: Pick<ClientStore, 'find'>,
  ) {}

  refreshTo(version: number): Promise<void> {
    return this.webhooks.refreshTo(version);
  }

  /** Those of the audiences that name somebody, and nobody who exists. Rejects while Redis is away. */
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
