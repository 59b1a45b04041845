import { isDispensable, usesOf, useText } from '@relay/doctor';
import { RedisClientStore, type ClientCommand } from '@relay/identity';
import type { Keyring } from '@relay/keyring';
import type { KeyCommand } from '@relay/registry';
import { RedisSealedWebhooks, type WebhookCommand } from '@relay/webhooks';
import type { Command } from 'commander';
import { keyringOf } from '../keyring.adapter.js';
import { documented } from '../documented.js';
import { withRegistry, type Stores } from '../registry.adapter.js';
import { answer, type Shell } from '../shell.js';

export function defineForgetKey(group: Command, shell: Shell): void {
  const command = group
    .command('forget')
    .argument('<kid>', 'name of the key')
    .option('--lost', 'even if values are still sealed with it; no key opens them then')
    .description('let processes run without an older key, before it is removed from ENCRYPTION_KEYS or once it is lost')
    .action(async (kid: string, options: { json?: boolean; lost?: boolean }) => {
      const keyring = keyringOf(shell);
      if (keyring.kids[0] === kid) throw new Error(`${kid} is first in ENCRYPTION_KEYS: it seals new values`);
      const kind = await withRegistry(shell, async (stores) => {
        const use = await useOf(stores, keyring, kid);
        if (!isDispensable(use) && options.lost !== true)
          throw new Error(`${useText(use)}; with --lost it is forgotten anyway`);
        const result = await stores.registry.of<KeyCommand>('key').change({ kind: 'forget', kid });
        return (result as { kind: string }).kind;
      });
      const isKnown = kind === 'forgotten';
      answer(
        shell,
        options,
        { key: kid, forgotten: isKnown },
        isKnown ? `${kid} is no longer needed.` : `${kid} was not known.`,
      );
    });
  documented(command, 'keys forget k1');
}

async function useOf(
  { redis, registry }: Stores,
  keyring: Keyring,
  kid: string,
): Promise<ReturnType<typeof usesOf>[0]> {
  const webhooks = new RedisSealedWebhooks(redis, registry.of<WebhookCommand>('webhook'), keyring, Date.now);
  const clients = await new RedisClientStore(redis, registry.of<ClientCommand>('client')).list();
  const [use] = usesOf([kid], await webhooks.byKey(), clients);
  if (use === undefined) throw new Error(`Nothing is known of ${kid}`);
  return use;
}
