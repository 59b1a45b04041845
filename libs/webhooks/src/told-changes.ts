import type { WebhookStore } from './webhook-store.port.js';

type Store = Pick<WebhookStore, 'find' | 'disable' | 'enable'>;
type Named = { readonly id: string; readonly partnerId: string };

/** `unchanged`: it was in that state already. */
export type ToldChange = 'changed' | 'unchanged' | 'missing';

/**
 * Disables an active webhook after it is told, for an operator. One that is disabled keeps its reason: an unverified webhook that
 * an operator had disabled could be enabled without a test.
 */
export const disableTold = (store: Store, webhook: Named, tell: () => Promise<void>): Promise<ToldChange> =>
  change(store, webhook, 'disabled', tell, (version) =>
    store.disable(webhook.partnerId, webhook.id, 'operator', version),
  );

/** Enables a disabled webhook after it is told why it was disabled. `unverified`: only a test of its endpoint enables it. */
export async function enableTold(
  store: Store,
  webhook: Named,
  tell: (disabledReason: string) => Promise<void>,
): Promise<ToldChange | 'unverified'> {
  const found = await store.find(webhook.partnerId, webhook.id);
  if (found?.details.disabledReason === 'unverified') return 'unverified';
  return change(
    store,
    webhook,
    'active',
    () => tell(found?.details.disabledReason ?? ''),
    (version) => store.enable(webhook.partnerId, webhook.id, version),
  );
}

/** Changes the version that was read, so that another change meanwhile is looked at first. */
async function change(
  store: Store,
  { id, partnerId }: Named,
  wanted: 'active' | 'disabled',
  tell: () => Promise<void>,
  make: (version: number) => Promise<{ readonly kind: string }>,
): Promise<ToldChange> {
  for (let isTold = false; ; isTold = true) {
    const found = await store.find(partnerId, id);
    if (found === undefined) return 'missing';
    if (found.details.status === wanted) return 'unchanged';
    if (!isTold) await tell();
    if ((await make(found.version)).kind === 'updated') return 'changed';
  }
}
