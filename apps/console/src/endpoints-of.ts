import type { Kind } from '@relay/ui';
import type { Answer } from './session.js';
import { troubleOf } from './words.js';

type Webhook = Answer<'listWebhooks'>['webhooks'][number];

/** A partner’s server, and the worst that its webhooks say of it. */
export interface Endpoint {
  readonly partnerId: string;
  readonly origin: string;
  readonly kind: Kind;
  readonly text: string;
  readonly failingSince: string | null;
  readonly notBefore: string | null;
  readonly webhooks: number;
  readonly waiting: number;
}

const WORST: readonly Kind[] = ['bad', 'warn', 'info', 'good'];
const first = (a: string | null, b: string | null): string | null => (a === null || (b !== null && b < a) ? b : a);

/** The endpoints of webhooks, those in the worst trouble first, then those with most waiting deliveries. */
export function endpointsOf(webhooks: readonly Webhook[]): Endpoint[] {
  const found = new Map<string, Endpoint>();
  for (const webhook of webhooks) {
    const { partnerId, origin } = webhook;
    const own = { partnerId, origin, ...troubleOf(webhook), webhooks: 1 };
    const { failingSince, notBefore, waiting } = webhook;
    const before = found.get(`${partnerId} ${origin}`);
    found.set(
      `${partnerId} ${origin}`,
      before === undefined
        ? { ...own, failingSince, notBefore, waiting }
        : {
            ...(WORST.indexOf(own.kind) < WORST.indexOf(before.kind) ? own : before),
            failingSince: first(before.failingSince, failingSince),
            notBefore: first(before.notBefore, notBefore),
            webhooks: before.webhooks + 1,
            waiting: before.waiting + waiting,
          },
    );
  }
  return [...found.values()].toSorted((a, b) => WORST.indexOf(a.kind) - WORST.indexOf(b.kind) || b.waiting - a.waiting);
}
