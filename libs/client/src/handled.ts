import type { EventType } from '@relay/events';
import type { Verification } from './verify-delivery.js';

/** What became of a delivery on this machine. */
export interface Handled {
  /** Time of arrival, ISO 8601. */
  readonly at: string;
  readonly id: string;
  readonly type: EventType;
  readonly verified: boolean;
  /** Why it is not verified. */
  readonly fault?: string;
  /** The answer of the address that it was forwarded to; none where it was not, or nobody answered. */
  readonly status?: number;
  readonly ms?: number;
  /** Why there was no answer. */
  readonly unforwarded?: string;
}

const FAULTS = {
  'header-missing': 'it has no signature, no id or no time',
  'timestamp-invalid': 'it has no time',
  'too-old': 'it was signed more than five minutes ago',
  'too-new': 'it was signed for more than five minutes from now',
  'no-matching-signature': 'the signature is for another secret or other bytes',
} as const;

export const verdictOf = (verified: Verification): Pick<Handled, 'verified' | 'fault'> =>
  verified.genuine ? { verified: true } : { verified: false, fault: FAULTS[verified.reason] };

/** One line for a person. */
export function lineOf({ at, id, type, verified, fault, status, ms, unforwarded }: Handled): string {
  const signature = verified ? 'signature verified' : `signature NOT verified (${fault})`;
  const answer = status === undefined ? [] : [`answered ${status} in ${ms} ms`];
  return [`${at} ${type} ${id}`, signature, ...(unforwarded === undefined ? answer : [unforwarded])].join(', ');
}
