import { operationsEnv } from '@relay/config';
import type { EnvelopeType } from '@relay/events';
import type { ClientKind } from '@relay/identity';
import { OperationsClient, OperationsRefused } from '@relay/operations-client';
import { settingsOf, type Shell } from './shell.js';

/**
 * A client of the operations app, for commands that open neither Redis nor Kafka.
 * @throws Error if its credentials are not set
 */
export function operationsOf(shell: Shell): OperationsClient {
  const settings = settingsOf(shell, operationsEnv);
  const { OPERATIONS_URL: url, OPERATOR_CLIENT_ID: clientId, OPERATOR_CLIENT_SECRET: clientSecret } = settings;
  if (clientId === undefined || clientSecret === undefined)
    throw new Error(
      `OPERATOR_CLIENT_ID and OPERATOR_CLIENT_SECRET are not set: \`relay admin clients create operator NAME --role admin\`, with the settings of the relay, prints both. OPERATIONS_URL names the operations app that this command asks, ${url} now`,
    );
  return new OperationsClient({ url, clientId, clientSecret });
}

export const isRefused = (error: unknown, status: number): error is OperationsRefused =>
  error instanceof OperationsRefused && error.status === status;

/** For `catch`: returns undefined if the operations app answered 404, and rethrows any other error. */
export function unlessMissing(error: unknown): undefined {
  if (!isRefused(error, 404)) throw error;
}

/** @throws Error if no client of this kind has the id */
export async function assertKind(api: OperationsClient, kind: ClientKind, id: string): Promise<void> {
  const found = await api.call('readClient', { path: { id } }).catch(unlessMissing);
  if (found?.kind !== kind)
    throw new Error(`There is no ${kind} ${id}: \`relay ${kind}s list\` shows the existing ones`);
}

/** The operations app returns at most this many clients, webhooks or replays in a page. */
export const MOST_LISTED = 10_000;

export type ListedWebhook = Awaited<ReturnType<typeof webhooksOf>>[number];

/** Lists webhooks, oldest first. @throws Error if the partner does not exist */
export async function webhooksOf(
  api: OperationsClient,
  filter: { partner?: string; status?: 'active' | 'parked' | 'disabled'; eventType?: EnvelopeType },
) {
  if (filter.partner !== undefined) await assertKind(api, 'partner', filter.partner);
  const query = { ...filter, limit: MOST_LISTED };
  return api.all('listWebhooks', { query }, ({ webhooks }) => webhooks);
}
