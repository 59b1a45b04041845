import { verifyDelivery } from '@relay/client';

export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A received request, and whether it is a verified delivery of its webhook. */
export interface Arrival {
  readonly id: string;
  readonly type: string;
  readonly attempt: number;
  readonly verified: boolean;
  /** Why it is not verified. */
  readonly fault?: string;
}

const FAULTS = {
  'header-missing': 'it has no signature, no id or no time',
  'timestamp-invalid': 'it has no time',
  'too-old': 'it was signed more than five minutes ago',
  'too-new': 'it was signed for more than five minutes from now',
  'no-matching-signature': 'the signature is for another secret or other bytes',
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

/** The result of an arrival. */
export interface Handled extends Arrival {
  /** Time of arrival, ISO 8601. */
  readonly at: string;
  /** Status that the relay got. */
  readonly status: number;
  /** Milliseconds from the last byte to the answer. */
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
