import { EVENT_TYPES, isEventType, type EventType } from '@relay/events';
import { InvalidArgumentError, type Command } from 'commander';
import { checkedDestination } from '../destination.js';
import { documented } from '../documented.js';
import type { Shell } from '../shell.js';
import { counted } from '../table.js';
import { arrivalOf, lineOf, type Handled } from './arrival.js';
import { register, unregister, type DevelopmentWebhook } from './development-webhooks.adapter.js';
import { forward, type Forwarded } from './forward.adapter.js';
import { Listener, type Receive } from './listener.adapter.js';

interface Options {
  json?: boolean;
  forwardTo?: URL;
  type: EventType[];
  partner?: string;
  port: number;
}

export function defineListen(command: Command, shell: Shell): void {
  command
    .option('--forward-to <url>', 'URL that gets each delivery, with the same bytes and headers', targetOf)
    .option('--type <types>', 'event types, comma separated or repeated; by default all', typesOf, [])
    .option('--partner <name or id>', 'owner of the webhooks; by default the only partner')
    .option('--port <n>', 'port on 127.0.0.1; by default any free port', portOf, 0)
    .action((options: Options) => listen(shell, options));
  documented(command, 'listen --forward-to http://127.0.0.1:8080/webhooks --type task.created,task.updated');
}

async function listen(shell: Shell, { json = false, forwardTo, type, partner, port }: Options): Promise<void> {
  const print = (value: object, text: string): void => shell.print(json ? JSON.stringify(value) : text);
  const interrupted = shell.interrupted();
  // A delivery may arrive before the last webhook is registered; it waits until then.
  let registered: Promise<readonly DevelopmentWebhook[]> = Promise.resolve([]);
  const receive = receiver(
    () => registered.catch(() => []),
    forwardTo,
    (one) => print(one, lineOf(one)),
  );
  const listener = await Listener.open(port, receive);
  assertReachable(shell, listener.origin);
  const types = type.length === 0 ? EVENT_TYPES : type;
  registered = register(shell, partner, new Map(types.map((name) => [name, listener.url(name)])));
  const webhooks = await registered;
  const shown = webhooks.map(({ id, eventType }) => ({ id, eventType }));
  const onto = forwardTo === undefined ? 'answered 200' : `forwarded to ${forwardTo.href}`;
  print(
    { listening: listener.origin, partner: webhooks[0]?.partnerId, webhooks: shown },
    `${counted(webhooks.length, 'webhook')} of ${webhooks[0]?.partnerId} at ${listener.origin}; each delivery is ${onto}. Ctrl-C ends the command.`,
  );
  await interrupted;
  try {
    await unregister(shell, webhooks);
  } catch (error) {
    const ids = webhooks.map(({ id }) => id).join(', ');
    throw new Error(`The webhooks ${ids} may still be registered (${String(error)}): delete them as their partner`, {
      cause: error,
    });
  } finally {
    await listener.close();
  }
  print({ deleted: shown.map(({ id }) => id) }, `${counted(webhooks.length, 'webhook')} deleted.`);
}

function receiver(
  registered: () => Promise<readonly DevelopmentWebhook[]>,
  forwardTo: URL | undefined,
  print: (handled: Handled) => void,
): Receive {
  return async (type, headers, body) => {
    const now = Date.now();
    const secret = (await registered()).find(({ eventType }) => eventType === type)?.secret;
    if (secret === undefined) return { status: 503 };
    const arrival = arrivalOf(headers, body, secret, Math.floor(now / 1_000));
    const { fault: unforwarded, ...reply }: Forwarded =
      forwardTo === undefined ? { status: 200 } : await forward(forwardTo, headers, body);
    const handled = { ...arrival, at: new Date(now).toISOString(), status: reply.status, ms: Date.now() - now };
    print({ ...handled, ...(unforwarded === undefined ? {} : { unforwarded }) });
    return reply;
  };
}

/** @throws Error when these settings keep the worker from delivering to this machine */
function assertReachable(shell: Shell, origin: string): void {
  const check = checkedDestination(shell, origin);
  if (check.ok) return;
  throw new Error(
    `A worker with these settings delivers nothing to ${origin} (${check.detail}) Set EGRESS_ALLOW_HTTP=true and EGRESS_ALLOW_CIDRS=127.0.0.0/8 for the worker and for this command, in development only; \`npm start\` does`,
  );
}

function targetOf(text: string): URL {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new InvalidArgumentError('An http or https URL is expected, such as http://127.0.0.1:8080/webhooks.');
  return url;
}

function typesOf(text: string, known: readonly EventType[]): EventType[] {
  const given = text.split(',').map((part) => {
    const name = part.trim();
    if (!isEventType(name)) throw new InvalidArgumentError(`${name} is none of ${EVENT_TYPES.join(', ')}.`);
    return name;
  });
  return [...new Set([...known, ...given])];
}

function portOf(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError('A port from 0 to 65535 is expected.');
  return Number(text);
}
