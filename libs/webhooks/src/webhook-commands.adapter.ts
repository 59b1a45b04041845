import type { LogView } from '@relay/redis';
import type { StoredWebhooks } from './stored-webhooks.adapter.js';
import { CommandResult, type WebhookCommand } from './webhook-command.js';
import { changesNothing } from './void-command.js';

/**
 * Sends commands to the registry, whose log keeps them for ever: not one that a read shows to be refused, or to change
 * nothing. The script that applies commands still decides between those that are under way at the same time.
 */
export class WebhookCommands {
  constructor(
    private readonly stored: StoredWebhooks,
    private readonly registry: LogView<WebhookCommand>,
  ) {}

  async send(command: WebhookCommand): Promise<CommandResult> {
    await this.registry.current();
    const known = await this.confirmed(() => this.#known(command));
    return known ?? CommandResult.parse(await this.registry.change(command));
  }

  /**
   * What a read shows, if anything, seen again once Redis shows all that the log holds: a change whose answer was lost may
   * stand there and not be applied yet, and what is answered now must not be overtaken by it.
   */
  async confirmed<T>(read: () => Promise<T | undefined>): Promise<T | undefined> {
    if ((await read()) === undefined) return undefined;
    await this.registry.settled();
    return read();
  }

  async #known(command: WebhookCommand): Promise<CommandResult | undefined> {
    const refusal = await this.stored.refusalOf(command);
    if (refusal !== undefined || command.kind !== 'update') return refusal;
    const record = await this.stored.record(command.id);
    return record !== undefined && changesNothing(command, record)
      ? { kind: 'updated', id: record.id, version: record.version }
      : undefined;
  }
}
