import type { LogView } from '@relay/redis';
import type { StoredWebhooks } from './stored-webhooks.adapter.js';
import { CommandResult, type WebhookCommand } from './webhook-command.js';
import { changesNothing } from './void-command.js';

/**
 * Sends commands to the registry, whose log keeps them for ever. A command that a read shows to be refused, or to change
 * nothing, is not sent. The script that applies commands still decides between commands that run at the same time.
 */
export class WebhookCommands {
  constructor(
    private readonly stored: StoredWebhooks,
    private readonly registry: LogView<WebhookCommand>,
  ) {}

  /** @throws Error when the command ends as none of these kinds */
  async send<Kind extends CommandResult['kind']>(
    command: WebhookCommand,
    kinds: readonly Kind[],
  ): Promise<Extract<CommandResult, { kind: Kind }>> {
    await this.registry.current();
    const known = await this.#confirmed(() => this.#known(command));
    const result = known ?? CommandResult.parse(await this.registry.change(command));
    if (isOneOf(result, kinds)) return result;
    throw new Error(`A ${command.kind} command cannot end as ${result.kind}`);
  }

  /** Reads before a change. A registration may stand in the log and not in Redis yet: it is absent only once both agree. */
  async found<T>(read: () => Promise<T | undefined>): Promise<T | undefined> {
    const found = await read();
    if (found !== undefined) return found;
    await this.registry.settled();
    return read();
  }

  /** Reads a refusal twice: a change whose answer was lost may stand in the log and not in Redis yet, and would overtake it. */
  async #confirmed<T>(read: () => Promise<T | undefined>): Promise<T | undefined> {
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

function isOneOf<Kind extends CommandResult['kind']>(
  result: CommandResult,
  kinds: readonly Kind[],
): result is Extract<CommandResult, { kind: Kind }> {
  return kinds.some((kind) => kind === result.kind);
}
