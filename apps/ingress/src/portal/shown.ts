import type { Caller } from '@relay/access';

/** Whether the caller may see a webhook of its partner: the holder of a portal token may be shown some of them only. */
export const isShown = ({ portal }: Caller, webhookId: string): boolean =>
  portal?.webhookIds?.includes(webhookId.toLowerCase()) ?? true;
