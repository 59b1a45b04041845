import { type OperationsClient, OperationsRefused } from '@relay/operations-client';
import { operationsOf } from '../operations.js';
import type { Shell } from '../shell.js';
import { counted } from '../table.js';
import { listed } from './listed.js';

/** Ids by result; `unchanged`: the webhook was in that state already. */
export interface Report {
  readonly changed: readonly string[];
  readonly unchanged: readonly string[];
  readonly missing: readonly string[];
}

/** Changes one webhook after the other: those with the ids, or all of a partner. */
export async function changeWebhooks(
  shell: Shell,
  what: 'disable' | 'enable' | 'delete',
  ids: readonly string[],
  partner: string | undefined,
): Promise<Report> {
  const api = operationsOf(shell);
  const wanted =
    partner === undefined ? ids.map((id) => id.toLowerCase()) : (await listed(api, { partner })).map(({ id }) => id);
  const report = { changed: [] as string[], unchanged: [] as string[], missing: [] as string[] };
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

async function change(api: OperationsClient, what: 'disable' | 'enable' | 'delete', id: string): Promise<keyof Report> {
  const path = { id };
  try {
    if (what === 'delete') await api.call('deleteWebhook', { path });
    else {
      const { status, disabledReason } = await api.call('readWebhook', { path });
      // One that is disabled for another reason changes: only operators enable it then.
      if (what === 'disable' ? disabledReason === 'operator' : status !== 'disabled') return 'unchanged';
      await api.call(`${what}Webhook`, { path });
    }
    return 'changed';
  } catch (error) {
    if (error instanceof OperationsRefused && error.status === 404) return 'missing';
    throw error;
  }
}
