import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Heard } from './listen.js';
import type { RelayClient } from './relay-client.adapter.js';
import { verifyDelivery, type Verification } from './verify-delivery.js';

export interface Forwarding {
  readonly types: readonly string[];
  /** Each delivery is forwarded to this URL. Without it, deliveries are only printed. */
  readonly forwardTo?: URL | undefined;
  /** Prints one line. A program reads `value`, and a person reads `text`. */
  readonly print: (value: object, text: string) => void;
  /** Ends the command. If a delivery is being forwarded, its response is awaited first. */
  readonly signal: AbortSignal;
}

/**
 * The command `listen`. It forwards the deliveries to a program under development, one after the other, and prints the
 * result of each. A failed delivery is not repeated. Resolves after the signal was aborted.
 * @throws Error if the relay cannot be reached or refuses the request
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

/** Result of a delivery that was received on this machine. */
interface Handled {
  /** Time of arrival, ISO 8601. */
  readonly at: string;
  readonly id: string;
  readonly type: string;
  readonly verified: boolean;
  /** Why the signature was not verified. */
  readonly fault?: string;
  /** Status of the response from the local address. Undefined if the delivery was not forwarded or got no response. */
  readonly status?: number;
  readonly ms?: number;
  /** Why there was no response. */
  readonly unforwarded?: string;
}

const FAULTS = {
  'header-missing': 'it has no signature, no id or no time',
  'timestamp-invalid': 'it has no time',
  'too-old': 'it was signed more than five minutes ago',
  'too-new': 'it was signed for more than five minutes from now',
  'no-matching-signature': 'the signature is for another secret or other bytes',
} as const;

const verdictOf = (verified: Verification): Pick<Handled, 'verified' | 'fault'> =>
  verified.genuine ? { verified: true } : { verified: false, fault: FAULTS[verified.reason] };

function lineOf({ at, id, type, verified, fault, status, ms, unforwarded }: Handled): string {
  const signature = verified ? 'signature verified' : `signature NOT verified (${fault})`;
  const answer = status === undefined ? [] : [`answered ${status} in ${ms} ms`];
  return [`${at} ${type} ${id}`, signature, ...(unforwarded === undefined ? answer : [unforwarded])].join(', ');
}

/** The default timeout of an attempt by the relay. */
const TIMEOUT_MS = 15_000;
/** Headers that apply to one connection only (RFC 9110 section 7.6.1) or are set again for the next connection. */
const OF_THE_CONNECTION = new Set([
  'connection',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** The status of the response, or why there was no response. */
type Forwarded = { readonly status: number } | { readonly unforwarded: string };

/** Forwards a delivery with its unchanged body and headers. Never rejects, and ignores the body of the response. */
export async function forward(
  target: URL,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
): Promise<Forwarded> {
  const own = Object.entries(headers).filter(([name]) => !OF_THE_CONNECTION.has(name));
  try {
    const { statusCode = 0 } = await send(target, Object.fromEntries(own), body);
    return { status: statusCode };
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError')
      return { unforwarded: `${target.origin} did not answer within ${TIMEOUT_MS / 1_000} s` };
    return { unforwarded: `${target.origin} cannot be reached (${reasonOf(error)})` };
  }
}

function send(target: URL, headers: Record<string, string>, body: Buffer): Promise<IncomingMessage> {
  const request = target.protocol === 'https:' ? httpsRequest : httpRequest;
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  return new Promise((resolve, reject) => {
    const failed = (error: Error): void => reject(signal.aborted ? (signal.reason as Error) : error);
    request(target, { method: 'POST', headers, signal }, (answer) => {
      answer.on('error', () => undefined).resume();
      resolve(answer);
    })
      .on('error', failed)
      .end(body);
  });
}

/** If a host has several addresses, Node reports an error with one entry for each address and without a message. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || ('code' in error ? String(error.code) : error.name);
}
