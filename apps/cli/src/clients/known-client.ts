import type { ClientKind } from '@relay/identity';
import { type OperationsClient, OperationsRefused } from '@relay/operations-client';

/** @throws Error when there is no client of this kind with the id */
export async function assertKind(api: OperationsClient, kind: ClientKind, id: string): Promise<void> {
  const found = await api.call('readClient', { path: { id } }).catch((error: unknown) => {
    if (error instanceof OperationsRefused && error.status === 404) return undefined;
    throw error;
  });
  if (found?.kind !== kind)
    throw new Error(`There is no ${kind} ${id}: \`relay ${kind}s list\` shows the existing ones`);
}
