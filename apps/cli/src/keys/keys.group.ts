import { isDispensable, useFix, usesOf, useText, type KeyUse } from '@relay/doctor';
import { ClientStore, type ClientCommand } from '@relay/identity';
import type { Keyring } from '@relay/keyring';
import type { KeyCommand } from '@relay/registry';
import { RedisSealedWebhooks, type WebhookCommand } from '@relay/webhooks';
import type { Command } from 'commander';
import { answer, counted, documented, documentedGroup, type Shell } from '../shell.js';
import { shownProgress, type Progress } from '../shown-progress.js';
import { assertShared, keyringOf, withRegistry, type CurrentStores } from '../stores.adapter.js';

const AT_ONCE = 16;

export function defineKeys(group: Command, shell: Shell): void {
  defineRotate(group.command('rotate'), shell);
  defineForget(group.command('forget'), shell);
  documentedGroup(group, 'keys rotate');
}

function defineRotate(command: Command, shell: Shell): void {
  command
    .description('re-encrypt the stored values of webhooks under the first of ENCRYPTION_KEYS, while all processes run')
    .action(async (options: { json?: boolean }) => {
      const keyring = keyringOf(shell);
      const shown = shownProgress(shell, options.json === true);
      const report = await withRegistry(shell, (stores) => rotate(stores, keyring, shown)).finally(() => shown.end());
      if (!isDone(report)) shell.exitCode = 1;
      const olderKeys = report.olderKeys.map((use) => ({ ...use, isNeeded: !isDispensable(use) }));
      answer(shell, options, { ...report, olderKeys }, textOf(report));
    });
  documented(command, 'keys rotate');
}

type RotationReport = Awaited<ReturnType<typeof rotate>>;

/**
 * Re-encrypts the secrets of every webhook with the first key, with one registry command for each webhook, while all
 * processes run. May be killed and run again: values that are already encrypted with that key are skipped.
 * @throws RegistryUnavailable if a change was not confirmed
 * @throws Error if the running processes lack the first key, so no worker could decrypt the new values
 */
async function rotate(stores: CurrentStores, keyring: Keyring, shown: Progress) {
  await assertShared(keyring, stores.redis);
  const webhooks = sealedIn(stores, keyring);
  const counts = { reencrypted: 0, skipped: 0 };
  const unreadable: string[] = [];
  shown.begin('re-encrypting webhooks', await webhooks.count());
  for await (const ids of webhooks.ids()) {
    const waiting = ids.values();
    const lane = async (): Promise<void> => {
      for (const id of waiting) {
        const became = await webhooks.reseal(id);
        if (became === 'resealed') counts.reencrypted += 1;
        else if (became === 'unreadable') unreadable.push(id);
        else counts.skipped += 1;
        shown.done(1);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
  }
  const [key = '', ...older] = keyring.kids;
  return { key, ...counts, unreadable, olderKeys: await usesIn(stores, webhooks, older) };
}

const sealedIn = ({ redis, registry }: CurrentStores, keyring: Keyring): RedisSealedWebhooks =>
  new RedisSealedWebhooks(redis, registry.of<WebhookCommand>('webhook'), keyring, Date.now);

async function usesIn(
  { redis, registry }: CurrentStores,
  webhooks: RedisSealedWebhooks,
  kids: string[],
): Promise<KeyUse[]> {
  const clients = await new ClientStore(redis, registry.of<ClientCommand>('client')).list();
  return usesOf(kids, await webhooks.byKey(), clients);
}

/**
 * Whether no webhook needs an older key any more. Clients may still need one, because the hash of a client secret can be
 * renewed only when the client sends the secret.
 */
const isDone = ({ unreadable, olderKeys }: RotationReport): boolean =>
  unreadable.length === 0 && olderKeys.every(({ webhooks }) => webhooks.length === 0);

function textOf({ key, reencrypted, skipped, unreadable, olderKeys }: RotationReport): string {
  return [
    `${counted(reencrypted, 'webhook')} re-encrypted under ${key}, ${skipped} skipped: under it already, or deleted meanwhile.`,
    ...unreadable.map((id) => `error: no key opens the stored values of webhook ${id}; they are unchanged.`),
    ...(unreadable.length === 0
      ? []
      : [
          'Put the key that sealed them back into `ENCRYPTION_KEYS`, after the first key. If that key is lost, the partner of each webhook sends `POST /webhooks/{id}/secret/rotate`, verifies with the secret in the answer, and then sends the credential again with `PATCH /webhooks/{id}`.',
        ]),
    ...olderKeys.map((use) => `${useText(use)}${isDispensable(use) ? '' : `: ${hintOf(use, unreadable)}`}.`),
  ].join('\n');
}

function hintOf(use: KeyUse, unreadable: readonly string[]): string {
  const isWrittenStill = use.webhooks.some((id) => !unreadable.includes(id));
  return isWrittenStill
    ? `a process has just sealed with it: restart the processes with another first key, then run this again`
    : useFix({ ...use, webhooks: [] });
}

function defineForget(command: Command, shell: Shell): void {
  command
    .argument('<kid>', 'name of the key')
    .option('--lost', 'even if values are still sealed with it; no key opens them then')
    .description('let processes run without an older key, before it is removed from ENCRYPTION_KEYS or once it is lost')
    .action(async (kid: string, options: { json?: boolean; lost?: boolean }) => {
      const keyring = keyringOf(shell);
      if (keyring.kids[0] === kid) throw new Error(`${kid} is first in ENCRYPTION_KEYS: it seals new values`);
      const kind = await withRegistry(shell, async (stores) => {
        const [use] = await usesIn(stores, sealedIn(stores, keyring), [kid]);
        if (use === undefined) throw new Error(`Nothing is known of ${kid}`);
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
