import type { RegisteredWebhook, WebhookStore } from './redis-webhook-store.adapter.js';

type Store = Pick<WebhookStore, 'find' | 'disable' | 'enable'>;
type Named = { readonly id: string; readonly partnerId: string };

/** `unchanged`: it was in that state already. */
export type ToldChange = 'changed' | 'unchanged' | 'missing';

/** Disables a webhook for an operator after `tell`, whatever disabled it before; from then on only operators enable it. */
export const disableTold = (store: Store, webhook: Named, tell: () => Promise<void>): Promise<ToldChange> =>
  change(
    store,
    webhook,
    ({ disabledReason }) => disabledReason === 'operator',
    tell,
    (version) => store.disable(webhook.partnerId, webhook.id, 'operator', [version]),
  );

/**
 * Enables a disabled webhook after `tell` got the reason of its stop. `unverified`: only a test of its endpoint enables it;
 * `partner`: only its partner, who disabled it.
 */
export async function enableTold(
  store: Store,
  webhook: Named,
  tell: (disabledReason: string) => Promise<void>,
): Promise<ToldChange | 'unverified' | 'partner'> {
  const found = await store.find(webhook.partnerId, webhook.id);
  const reason = found?.details.disabledReason ?? '';
  if (reason === 'unverified' || reason === 'partner') return reason;
  return change(
    store,
    webhook,
    ({ status }) => status === 'active',
    () => tell(reason),
    (version) => store.enable(webhook.partnerId, webhook.id, [version]),
  );
}

/** Changes the version that was read, so that a concurrent change is read first. */
async function change(
  store: Store,
  { id, partnerId }: Named,
  isDone: (details: RegisteredWebhook) => boolean,
  tell: () => Promise<void>,
  make: (version: number) => Promise<{ readonly kind: string }>,
): Promise<ToldChange> {
  for (let isTold = false; ; isTold = true) {
    const found = await store.find(partnerId, id);
    if (found === undefined) return 'missing';
    if (isDone(found.details)) return 'unchanged';
    if (!isTold) await tell();
    if ((await make(found.version)).kind === 'updated') return 'changed';
  }
}
