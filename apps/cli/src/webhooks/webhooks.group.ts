import { NOTICE_TYPES, type NoticeType } from '@relay/events';
import type { OperationsClient } from '@relay/operations-client';
import type { ShownStatus } from '@relay/progress';
import { Argument, type Command, Option } from 'commander';
import { isRefused, operationsOf, webhooksOf } from '../operations.js';
import { answer, counted, documented, documentedGroup, printSecret, readSecret, type Shell, table } from '../shell.js';

export function defineWebhooks(group: Command, shell: Shell): void {
  defineList(group.command('list'), shell);
  defineSwitch(group.command('disable'), shell, 'disable');
  defineSwitch(group.command('enable'), shell, 'enable');
  defineDelete(group.command('delete'), shell);
  documentedGroup(group, 'webhooks disable --partner partner_0Zt1…');
}

function defineList(command: Command, shell: Shell): void {
  command
    .description('list the webhooks of all partners, oldest first')
    .option('--partner <id>', 'only of this partner')
    .addOption(new Option('--status <status>', 'only of this status').choices(['active', 'parked', 'disabled']))
    .action(async ({ json = false, ...filter }: { json?: boolean; partner?: string; status?: ShownStatus }) => {
      const found = await webhooksOf(operationsOf(shell), filter);
      const webhooks = found.map(({ id, partnerId, eventType, origin, status, disabledReason, createdAt }) => ({
        id,
        partnerId,
        eventType,
        origin,
        status,
        disabledReason,
        createdAt,
      }));
      const rows = webhooks.map(({ status, disabledReason: reason, createdAt, ...webhook }) => [
        ...Object.values(webhook),
        createdAt,
        reason === null ? status : `${status} (${reason})`,
      ]);
      const count = counted(webhooks.length, 'webhook');
      answer(shell, { json }, webhooks, webhooks.length === 0 ? count : `${table(rows)}\n${count}`);
    });
  documented(command, 'webhooks list --partner partner_0Zt1… --status active');
}

const DESCRIPTIONS = {
  disable: 'stop deliveries to webhooks: their envelopes wait; only an operator enables the webhooks again',
  enable: 'deliver to disabled webhooks again, what waited for them too',
};

function defineSwitch(command: Command, shell: Shell, what: 'disable' | 'enable'): void {
  withChoice(command.description(DESCRIPTIONS[what])).action(async (ids: string[], options: Choice) => {
    assertChoice(command, ids, options);
    const { changed, unchanged, missing } = await changeWebhooks(shell, what, ids, options.partner);
    if (missing.length > 0) shell.exitCode = 1;
    const lines = [
      `${counted(changed.length, 'webhook')} ${what}d`,
      ...unchanged.map((id) => `${what}d already ${id}`),
      ...missing.map(notFound),
    ];
    const already = what === 'disable' ? { alreadyDisabled: unchanged } : { alreadyEnabled: unchanged };
    answer(shell, options, { [`${what}d`]: changed, ...already, missing }, lines.join('\n'));
  });
  documented(command, `webhooks ${what} --partner partner_0Zt1…`);
}

function defineDelete(command: Command, shell: Shell): void {
  command.description(
    'delete webhooks for good: their waiting deliveries end as cancelled; their dead letters stay until purged',
  );
  withChoice(command)
    .option('--yes', 'really do it')
    .action(async (ids: string[], options: Choice & { yes?: true }) => {
      assertChoice(command, ids, options);
      if (options.yes !== true) command.error('error: deleted webhooks are gone for good: confirm with --yes');
      const { changed: deleted, missing } = await changeWebhooks(shell, 'delete', ids, options.partner);
      if (missing.length > 0) shell.exitCode = 1;
      const lines = [
        ...deleted.map((id) => `deleted ${id}`),
        `${counted(deleted.length, 'webhook')} deleted`,
        ...missing.map(notFound),
      ];
      answer(shell, options, { deleted, missing }, lines.join('\n'));
    });
  documented(command, 'webhooks delete --partner partner_0Zt1… --yes');
}

interface Choice {
  json?: boolean;
  partner?: string;
}

const withChoice = (command: Command): Command =>
  command.argument('[id...]', 'ids of webhooks').option('--partner <id>', 'all webhooks of this partner');

/** Exits with a usage error unless the webhooks are selected either by ids or by partner. */
function assertChoice(command: Command, ids: readonly string[], { partner }: Choice): void {
  if (ids.length > 0 === (partner !== undefined))
    command.error('error: say which webhooks: either their ids, or --partner');
}

const notFound = (id: string): string => `not found ${id}: \`relay webhooks list\` shows the existing ones`;

type Change = 'disable' | 'enable' | 'delete';

/** `unchanged` means that the webhook was already in the wanted state. */
type Outcome = 'changed' | 'unchanged' | 'missing';

/** Changes the webhooks with these ids, or all webhooks of a partner, one after the other. @returns the ids by outcome */
async function changeWebhooks(
  shell: Shell,
  what: Change,
  ids: readonly string[],
  partner: string | undefined,
): Promise<Readonly<Record<Outcome, string[]>>> {
  const api = operationsOf(shell);
  const wanted =
    partner === undefined
      ? ids.map((id) => id.toLowerCase())
      : (await webhooksOf(api, { partner })).map(({ id }) => id);
  const report: Record<Outcome, string[]> = { changed: [], unchanged: [], missing: [] };
  try {
    for (const id of new Set(wanted)) report[await change(api, what, id)].push(id);
  } catch (error) {
    if (report.changed.length > 0)
      shell.note(
        `${counted(report.changed.length, 'webhook')} changed by now: the same command continues with the others`,
      );
    throw error;
  }
  return report;
}

async function change(api: OperationsClient, what: Change, id: string): Promise<Outcome> {
  const path = { id };
  try {
    if (what === 'delete') await api.call('deleteWebhook', { path });
    else {
      const { status, disabledReason } = await api.call('readWebhook', { path });
      // A webhook may already be disabled, but not by an operator. It is disabled here again, which makes an operator the
      // reason. Then only operators can enable it.
      if (what === 'disable' ? disabledReason === 'operator' : status !== 'disabled') return 'unchanged';
      await api.call(`${what}Webhook`, { path });
    }
    return 'changed';
  } catch (error) {
    if (isRefused(error, 404)) return 'missing';
    throw error;
  }
}

export function defineNotices(group: Command, shell: Shell): void {
  const command = group
    .command('add')
    .description("send the notices about all partners' webhooks to an address, and print the signing secrets once")
    .addArgument(new Argument('<url>', 'https address that receives them'))
    .addOption(new Option('--type <type...>', 'only these types').choices(NOTICE_TYPES))
    .option('--api-key-file <file>', 'what is sent as X-API-Key, in this file; - for standard input; else it is made')
    .action(async (url: string, options: { json?: boolean; apiKeyFile?: string; type?: NoticeType[] }) => {
      const { apiKeyFile: file, type: types } = options;
      const apiKey = file === undefined ? undefined : await readSecret(shell, '--api-key-file', file);
      const { webhooks, existing } = await operationsOf(shell).call('addNotices', { body: { url, types, apiKey } });
      for (const eventType of existing) shell.note(`${eventType} is sent there already`);
      printSecret(shell, options, webhooks);
    });
  documented(command, 'notices add https://ops.example/relay --type webhook.disabled');
  documentedGroup(group, 'notices add https://ops.example/relay');
}
