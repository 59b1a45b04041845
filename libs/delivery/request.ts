import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { eventTypeName } from '@relay/events';
import { z } from 'zod';

/** The credential that an endpoint requires, as registered with the webhook. It is decrypted only for an attempt. */
export type Credential =
  | { readonly kind: 'apiKey'; readonly apiKey: string }
  | { readonly kind: 'jwt'; readonly jwt: string }
  | { readonly kind: 'basic'; readonly userName: string; readonly password: string };

/** The facts from which the headers of one attempt are made. */
interface HeaderFacts {
  /** The bytes of the envelope as received, the same for every attempt. */
  readonly body: Buffer;
  readonly envelopeId: string;
  readonly eventType: string;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** Time of this attempt, which the signature includes: receivers refuse a signature that is older than five minutes. */
  readonly now: number;
  /** Signing secrets, the newest first. There are two during a rotation. */
  readonly secrets: readonly string[];
  readonly credential?: Credential;
  readonly traceparent?: string | undefined;
  /** Version of the relay, for `user-agent`. */
  readonly version: string;
  /** Whether it is a test delivery. */
  readonly isTest?: boolean;
}

export interface Attempt extends Omit<HeaderFacts, 'secrets' | 'credential'> {
  /** The webhook as it is when the attempt is made, which may have changed since the envelope was accepted. */
  readonly webhook: { readonly id: string; readonly partnerId: string; readonly url: string };
  readonly opened: {
    secrets(now: number): readonly string[];
    credential(): Credential;
    readonly timeoutMs?: number | undefined;
  };
}

export interface DeliveryRequest {
  readonly method: 'POST';
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
  readonly webhookId: string;
  readonly partnerId: string;
  /** Milliseconds that the attempt may take; by default the timeout of the sender. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Returns the request of one attempt, as docs/integrate/verify.md describes it. The signature covers exactly the bytes that are
 * sent.
 */
export function buildRequest({ webhook, opened, ...facts }: Attempt): DeliveryRequest {
  const { id: webhookId, partnerId, url } = webhook;
  const headers = attemptHeaders({ ...facts, secrets: opened.secrets(facts.now), credential: opened.credential() });
  return { method: 'POST', url, headers, body: facts.body, webhookId, partnerId, timeoutMs: opened.timeoutMs };
}

/** Returns the headers of one attempt, in the order of `DELIVERY_HEADERS`. */
export function attemptHeaders(facts: HeaderFacts): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { name, valueOf } of DELIVERY_HEADERS) {
    const value = valueOf(facts);
    if (value !== undefined) headers[name] = value;
  }
  return headers;
}

/** A header of a delivery. */
interface DeliveryHeader {
  readonly name: string;
  /** Description of the header in docs/integrate/verify.md. */
  readonly row: string;
  /** Schema of the header in the OpenAPI document; undefined if the document describes the header elsewhere. */
  readonly form?: z.ZodType;
  /** Returns the value of the header; undefined if the attempt does not have it. */
  readonly valueOf: (facts: HeaderFacts) => string | undefined;
}

const CREDENTIAL_ROW = 'your credential: the API key, `Bearer <jwt>` or `Basic …`';

/** All headers of a delivery, in the order in which they are sent. */
export const DELIVERY_HEADERS: readonly DeliveryHeader[] = [
  { name: 'content-type', row: '`application/json`', valueOf: () => 'application/json' },
  {
    name: 'user-agent',
    row: '`partner-relay/<version>`',
    valueOf: ({ version }) => `partner-relay/${version}`,
  },
  {
    name: 'webhook-id',
    row: 'id of the envelope; the same on every repeat',
    form: z.guid().describe("The envelope's id: the same on every attempt."),
    valueOf: ({ envelopeId }) => envelopeId,
  },
  {
    name: 'webhook-timestamp',
    row: 'time of this attempt, Unix seconds',
    form: z.string().regex(/^\d+$/).describe('Time of this attempt, Unix seconds.'),
    valueOf: ({ now }) => String(secondsOf(now)),
  },
  {
    name: 'webhook-signature',
    row: '`v1,` and an HMAC-SHA256 in base64, as [Standard Webhooks](https://www.standardwebhooks.com) has it',
    form: z
      .string()
      .regex(/^v1,[\w+/=]+( v1,[\w+/=]+)*$/)
      .describe(
        "Standard Webhooks: HMAC-SHA256 of `id.timestamp.body` by the webhook's secret; two while it is rotated.",
      ),
    valueOf: ({ secrets, envelopeId, now, body }) => signatureHeader(secrets, envelopeId, secondsOf(now), body),
  },
  {
    name: 'relay-event-type',
    row: 'such as `task.updated`',
    form: eventTypeName('known'),
    valueOf: ({ eventType }) => eventType,
  },
  {
    name: 'relay-attempt',
    row: '1, 2, …',
    form: z.string().regex(/^\d+$/).describe('1, 2, …'),
    valueOf: ({ attempt }) => String(attempt),
  },
  {
    name: 'traceparent',
    row: 'W3C Trace Context: the trace of the source, and in it this attempt where operators record spans',
    form: z.string().optional().describe('W3C Trace Context.'),
    valueOf: ({ traceparent }) => traceparent,
  },
  {
    name: 'x-api-key',
    row: CREDENTIAL_ROW,
    valueOf: ({ credential }) => (credential?.kind === 'apiKey' ? credential.apiKey : undefined),
  },
  { name: 'authorization', row: CREDENTIAL_ROW, valueOf: ({ credential }) => authorizationOf(credential) },
  {
    name: 'relay-test',
    row: '`true` on a test delivery, absent otherwise',
    valueOf: ({ isTest }) => (isTest === true ? 'true' : undefined),
  },
];

/** The headers that the OpenAPI document lists. */
export const deliveryHeaders = z.object(
  Object.fromEntries(DELIVERY_HEADERS.flatMap(({ name, form }) => (form === undefined ? [] : [[name, form]]))),
);

const secondsOf = (ms: number): number => Math.floor(ms / 1_000);

function authorizationOf(credential: Credential | undefined): string | undefined {
  switch (credential?.kind) {
    case undefined:
    case 'apiKey':
      return undefined;
    case 'jwt':
      return `Bearer ${credential.jwt}`;
    case 'basic':
      // RFC 7617 section 2.1: user name and password as UTF-8. Registration refuses a user name that contains a colon.
      return `Basic ${Buffer.from(`${credential.userName}:${credential.password}`, 'utf8').toString('base64')}`;
    default:
      return credential satisfies never;
  }
}

const PREFIX = 'whsec_';
// Standard Webhooks 1.0.0: a symmetric secret is `whsec_` and the base64 of 24 to 64 random bytes.
const MIN_BYTES = 24;
const MAX_BYTES = 64;

/**
 * Returns one signature by Standard Webhooks, `v1,<base64>`: an HMAC-SHA256 of `id.timestamp.body`, with the body as it is
 * sent.
 * @throws RangeError for an invalid secret. Otherwise the signature would be made with a key that no receiver has.
 */
export function sign(secret: string, id: string, timestampSeconds: number, body: Buffer): string {
  const mac = createHmac('sha256', keyOf(secret)).update(`${id}.${timestampSeconds}.`).update(body);
  return `v1,${mac.digest('base64')}`;
}

/**
 * Returns the `webhook-signature` header: one signature for each secret, the newest first, separated by spaces. During a
 * rotation a receiver can therefore verify it with the old or the new secret.
 * @throws RangeError if there is no secret, or if one is invalid
 */
export function signatureHeader(
  secrets: readonly string[],
  id: string,
  timestampSeconds: number,
  body: Buffer,
): string {
  if (secrets.length === 0) throw new RangeError('a delivery without a signing secret cannot be signed');
  return secrets.map((secret) => sign(secret, id, timestampSeconds, body)).join(' ');
}

// Key objects are kept because signing with a buffer takes six times as long (11.5 instead of 1.8 µs): Node makes a key
// object from the buffer at each call.
const keys = new Map<string, KeyObject>();
const MAX_KEYS = 10_000;

function keyOf(secret: string): KeyObject {
  const known = keys.get(secret);
  if (known !== undefined) return known;
  const key = createSecretKey(bytesOf(secret));
  if (keys.size >= MAX_KEYS) keys.clear();
  keys.set(secret, key);
  return key;
}

function bytesOf(secret: string): Buffer {
  // Buffer.from silently skips characters that are not base64, so a pattern checks them. The message never repeats the
  // secret.
  if (!/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(secret)) throw new RangeError('a signing secret is not of the form whsec_…');
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
  if (key.length < MIN_BYTES || key.length > MAX_BYTES) {
    throw new RangeError(`a signing secret has ${key.length} bytes instead of ${MIN_BYTES} to ${MAX_BYTES}`);
  }
  return key;
}

/**
 * A request cannot be written. The cause is a fault of the relay, or a stored credential with characters that no header may
 * have.
 */
export class UnwritableRequest extends Error {
  override readonly name = 'UnwritableRequest';
}

const TARGET = /^\/[\x21-\x7e]*$/;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Returns the bytes of a request as they are sent (RFC 9112).
 * @param target path and query
 * @throws UnwritableRequest if a part contains a character that is not allowed there, such as a line break
 */
export function requestBytes(host: string, target: string, { method, headers, body }: DeliveryRequest): Buffer {
  if (!TARGET.test(target)) throw new UnwritableRequest('the path has a character that no request may have');
  let head = `${method} ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`;
  for (const name in headers) {
    const value = headers[name] ?? '';
    if (!NAME.test(name) || !VALUE.test(value)) throw new UnwritableRequest(`the header ${name} cannot be sent`);
    head += `${name}: ${value}\r\n`;
  }
  head += `content-length: ${body.length}\r\n\r\n`;
  const bytes = Buffer.allocUnsafe(head.length + body.length);
  bytes.write(head, 'latin1');
  body.copy(bytes, head.length);
  return bytes;
}
