import type { EventType } from '@relay/events';
import { forward } from './forward.adapter.js';
import { lineOf, verdictOf, type Handled } from './handled.js';
import type { Heard } from './listen.js';
import type { RelayClient } from './relay-client.adapter.js';
import { verifyDelivery } from './verify-delivery.js';

export interface Forwarding {
  readonly types: readonly EventType[];
  /** Gets each delivery; without it they are only printed. */
  readonly forwardTo?: URL | undefined;
  /** Prints a line: the value for a program, the text for a person. */
  readonly print: (value: object, text: string) => void;
  /** Ends it; a running request is answered first. */
  readonly signal: AbortSignal;
}

/**
 * The command `listen`: forwards each delivery to a program under development, one after the other, and prints what became of it.
 * A delivery that fails is not repeated. Resolves when the signal has ended it.
 * @throws Error when the relay cannot be reached or refuses
 */
export async function forwardDeliveries(
  client: Pick<RelayClient, 'listen'>,
  { types, forwardTo, print, signal }: Forwarding,
): Promise<void> {
  const counts = { received: 0, failed: 0 };
  let secret = '';
  for await (const heard of client.listen({ types, signal })) {
    if (heard.kind === 'delivery') {
      const handled = await handle(heard, secret, forwardTo);
      counts.received += 1;
      if (!isAnswered(handled, forwardTo)) counts.failed += 1;
      print(handled, lineOf(handled));
      continue;
    }
    if (heard.kind === 'open') {
      if (heard.secret === secret) continue;
      secret = heard.secret;
    }
    const { kind, ...told } = heard;
    print({ [kind]: told }, textOf(heard, forwardTo));
  }
  const failed = counts.failed === 0 ? '' : `, ${counts.failed} of them without a 2xx`;
  print(
    { ended: counts },
    `${counts.received} ${counts.received === 1 ? 'delivery' : 'deliveries'} received${failed}.`,
  );
}

const isAnswered = ({ status = 0 }: Handled, forwardTo: URL | undefined): boolean =>
  forwardTo === undefined || (status >= 200 && status < 300);

async function handle(
  { id, type, headers, body }: Extract<Heard, { kind: 'delivery' }>,
  secret: string,
  forwardTo: URL | undefined,
): Promise<Handled> {
  const began = Date.now();
  const arrived = { at: new Date(began).toISOString(), id, type, ...verdictOf(verifyDelivery(headers, body, secret)) };
  if (forwardTo === undefined) return arrived;
  return { ...arrived, ...(await forward(forwardTo, headers, body)), ms: Date.now() - began };
}

function textOf(heard: Exclude<Heard, { kind: 'delivery' }>, forwardTo: URL | undefined): string {
  switch (heard.kind) {
    case 'open': {
      const onto = forwardTo === undefined ? 'printed' : `forwarded to ${forwardTo.href}`;
      return `Listening for ${heard.types.join(', ')}. Each delivery is ${onto}, signed with ${heard.secret}. Ctrl-C ends it.`;
    }
    case 'skipped':
      return `Envelopes accepted from ${heard.since} to ${heard.until} may be missing here: too many, or gone from the log.`;
    case 'cut':
      return `The stream was cut (${heard.reason}); it goes on in ${heard.waitMs} ms.`;
    default:
      return heard satisfies never;
  }
}
