import { sign } from '@relay/delivery';

/** Standard Webhooks: what is dated further away may have been recorded and sent again. */
const TOLERANCE_S = 300;

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

/** @param nowS Unix seconds */
export function arrivalOf(headers: Headers, body: Buffer, secret: string, nowS: number): Arrival {
  const text = (name: string): string => String(headers[name] ?? '');
  const id = text('webhook-id');
  const fault = faultOf(id, text('webhook-timestamp'), text('webhook-signature'), body, secret, nowS);
  return {
    id,
    type: text('relay-event-type'),
    attempt: Number(text('relay-attempt')),
    verified: fault === undefined,
    ...(fault === undefined ? {} : { fault }),
  };
}

function faultOf(id: string, timestamp: string, signatures: string, body: Buffer, secret: string, nowS: number) {
  if (signatures === '') return 'it has no signature';
  if (!/^\d{1,12}$/.test(timestamp)) return 'it has no time';
  if (Math.abs(nowS - Number(timestamp)) > TOLERANCE_S) return 'it was signed more than five minutes ago or ahead';
  return signatures.split(' ').includes(sign(secret, id, Number(timestamp), body))
    ? undefined
    : 'the signature is of another secret or other bytes';
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
