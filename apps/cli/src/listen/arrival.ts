import { verifyDelivery } from '@relay/client';

export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A request as it came, and whether it is a delivery of the webhook it came for. */
export interface Arrival {
  readonly id: string;
  readonly type: string;
  readonly attempt: number;
  readonly verified: boolean;
  /** Why it is not verified. */
  readonly fault?: string;
}

const FAULTS = {
  'header-missing': 'it has no signature, or not the id and time that go with one',
  'timestamp-invalid': 'it has no time',
  'too-old': 'it was signed more than five minutes ago',
  'too-new': 'it was signed for more than five minutes from now',
  'no-matching-signature': 'the signature is of another secret or other bytes',
} as const;

/** @param nowS Unix seconds */
export function arrivalOf(headers: Headers, body: Buffer, secret: string, nowS: number): Arrival {
  const text = (name: string): string => String(headers[name] ?? '');
  const verified = verifyDelivery(headers, body, secret, nowS * 1_000);
  return {
    id: text('webhook-id'),
    type: text('relay-event-type'),
    attempt: Number(text('relay-attempt')),
    verified: verified.genuine,
    ...(verified.genuine ? {} : { fault: FAULTS[verified.reason] }),
  };
}

/** What became of an arrival. */
export interface Handled extends Arrival {
  /** The time it came, ISO 8601. */
  readonly at: string;
  /** What the relay was answered. */
  readonly status: number;
  /** From its last byte to that answer. */
  readonly ms: number;
  /** Why it could not be forwarded. */
  readonly unforwarded?: string;
}

/** One line for a person. */
export function lineOf({ at, id, type, attempt, verified, fault, status, ms, unforwarded }: Handled): string {
  const signature = verified ? 'signature verified' : `signature NOT verified (${fault})`;
  const end = unforwarded === undefined ? `answered ${status} in ${ms} ms` : `answered ${status}: ${unforwarded}`;
  return `${at} ${type} ${id} attempt ${attempt}, ${signature}, ${end}`;
}
