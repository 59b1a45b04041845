import type { EnvelopeType } from '@relay/events';
import type { OperationsClient } from '@relay/operations-client';
import { assertKind } from '../clients/known-client.js';

/** The longest page that the operations app answers. */
const LIMIT = 10_000;

export type Listed = Awaited<ReturnType<typeof listed>>[number];

interface Filter {
  readonly partner?: string | undefined;
  readonly status?: 'active' | 'parked' | 'disabled' | undefined;
  readonly eventType?: EnvelopeType;
}

/** Webhooks, oldest first. @throws Error for a partner that does not exist */
export async function listed(api: OperationsClient, { partner, status, eventType }: Filter) {
  if (partner !== undefined) await assertKind(api, 'partner', partner);
  const query = { partner, status, eventType, limit: LIMIT };
  return api.all('listWebhooks', { query }, ({ webhooks }) => webhooks);
}
