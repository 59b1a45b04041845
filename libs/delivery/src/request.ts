import { signatureHeader } from './signature.js';

/** The credential that an endpoint requires, as registered with the webhook; decrypted for the attempt only. */
export type Credential =
  | { readonly kind: 'apiKey'; readonly apiKey: string }
  | { readonly kind: 'jwt'; readonly jwt: string }
  | { readonly kind: 'basic'; readonly userName: string; readonly password: string };

export interface Attempt {
  /** The webhook's URL at the time of the attempt, not of the envelope. */
  readonly url: string;
  /** The envelope's bytes as received, the same on every attempt. */
  readonly body: Buffer;
  readonly envelopeId: string;
  readonly eventType: string;
  readonly webhookId: string;
  readonly partnerId: string;
  /** 1 for the first. */
  readonly attempt: number;
  /** Time of this attempt, which dates the signature: receivers refuse one that is older than five minutes. */
  readonly now: number;
  /** Signing secrets, the newest first; two while they rotate. */
  readonly secrets: readonly string[];
  readonly credential: Credential;
  readonly traceparent?: string | undefined;
  /** Version of the relay, for `user-agent`. */
  readonly version: string;
}

export interface DeliveryRequest {
  readonly method: 'POST';
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
  /** Not sent. */
  readonly webhookId: string;
  /** Whose connections are used; not sent. */
  readonly partnerId: string;
}

/** The request of one attempt, as docs/partners.md describes it; the signature covers the bytes that are sent. */
export function buildRequest(attempt: Attempt): DeliveryRequest {
  const { url, body, webhookId, partnerId } = attempt;
  const headers = Object.assign(attemptHeaders(attempt), credentialHeader(attempt.credential));
  return { method: 'POST', url, headers, body, webhookId, partnerId };
}

/** The headers of one attempt but for the credential of a webhook. */
export function attemptHeaders(
  attempt: Omit<Attempt, 'url' | 'webhookId' | 'partnerId' | 'credential'>,
): Record<string, string> {
  const { body, envelopeId, traceparent } = attempt;
  const timestampSeconds = Math.floor(attempt.now / 1_000);
  return {
    'content-type': 'application/json',
    'user-agent': `partner-relay/${attempt.version}`,
    'webhook-id': envelopeId,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': signatureHeader(attempt.secrets, envelopeId, timestampSeconds, body),
    'relay-event-type': attempt.eventType,
    'relay-attempt': String(attempt.attempt),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
}

function credentialHeader(credential: Credential): Record<string, string> {
  switch (credential.kind) {
    case 'apiKey':
      return { 'x-api-key': credential.apiKey };
    case 'jwt':
      return { authorization: `Bearer ${credential.jwt}` };
    case 'basic': {
      // RFC 7617 section 2.1: user and password as UTF-8. Registration refuses a user name with a colon.
      const userPass = Buffer.from(`${credential.userName}:${credential.password}`, 'utf8');
      return { authorization: `Basic ${userPass.toString('base64')}` };
    }
    default:
      return credential satisfies never;
  }
}
