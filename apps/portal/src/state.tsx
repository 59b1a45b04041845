import { Badge } from '@relay/ui';
import { healthOf, type WebhookState } from './words.js';

/** How a webhook is: the same words in the list and on its own page. */
export function State({ webhook, nowMs }: { readonly webhook: WebhookState; readonly nowMs: number }) {
  const { kind, word, words } = healthOf(webhook, nowMs);
  return (
    <>
      <Badge kind={kind}>{word}</Badge>
      <p class="small">{words}</p>
    </>
  );
}
