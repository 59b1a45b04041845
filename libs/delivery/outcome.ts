import type { AttemptTiming } from './attempt-timing.js';
import type { EndpointAnswer } from './endpoint-answer.js';

/** Why an attempt got no answer, in words that metrics and `relay.delivery-attempts` carry. */
export const ATTEMPT_ERRORS = [
  'timeout',
  'connect-timeout',
  'dns',
  'tls',
  'reset',
  'refused',
  'egress-denied',
  'protocol',
  'unknown',
] as const;
export type AttemptError = (typeof ATTEMPT_ERRORS)[number];

/** Result of the sender. An answer counts when its head has arrived; `retryAfter` is that header as received. */
export type AttemptResult =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly retryAfter?: string | undefined;
      /** Undefined if the sender keeps none. */
      readonly answer?: EndpointAnswer;
      readonly durationMs: number;
      /** Set if the attempt failed or took at least 1 s. */
      readonly timing?: AttemptTiming;
    }
  | {
      readonly kind: 'failed';
      readonly error: AttemptError;
      readonly detail: string;
      /** Whether there was a connection, so that the request was written; undefined if none was to be made. */
      readonly isWritten?: boolean;
      readonly durationMs: number;
      readonly timing?: AttemptTiming;
    };

/** Meaning of an attempt. `notBefore`: the endpoint asked for no attempt before this time, which is after now. */
export type Outcome =
  | { readonly kind: 'delivered'; readonly status: number }
  | { readonly kind: 'gone'; readonly status: 410 }
  | {
      readonly kind: 'failed';
      readonly status?: number;
      readonly error?: AttemptError;
      readonly detail: string;
      readonly notBefore?: number;
    };

/**
 * How far an attempt came, which shows whether its webhook or the whole origin failed: the origin answered, or began to; it took
 * the request and was silent; there was no connection; or the relay made no request.
 */
export type Reach = 'answered' | 'silent' | 'unreached' | 'unmade';

export function reachOf(result: AttemptResult): Reach {
  if (result.kind === 'answered' || result.error === 'protocol' || result.timing?.firstByteMs !== undefined)
    return 'answered';
  if (result.isWritten === undefined) return 'unmade';
  return result.isWritten ? 'silent' : 'unreached';
}

/** Longest time for which an endpoint can ask for no attempt. */
export const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/** Classifies a result by the table in docs/partners.md. */
export function classify(result: AttemptResult, now: number): Outcome {
  if (result.kind === 'failed') return { kind: 'failed', error: result.error, detail: result.detail };
  const { status } = result;
  if (status >= 200 && status < 300) return { kind: 'delivered', status };
  if (status === 410) return { kind: 'gone', status };
  const detail =
    status >= 300 && status < 400 ? `answered ${status}; redirects are not followed` : `answered ${status}`;
  const notBefore = status === 429 || status === 503 ? retryAfterTime(result.retryAfter, now) : undefined;
  return { kind: 'failed', status, detail, ...(notBefore === undefined ? {} : { notBefore }) };
}

// RFC 9110 section 5.6.7: the form to send, and the two obsolete ones that a recipient must accept. Date.parse alone takes `-1`
// for a year and reads the asctime form as local time.
const HTTP_DATE = [
  /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/,
];

/** RFC 9110 section 10.2.3: whole seconds or a date. Any other text, or a past date, is ignored. */
function retryAfterTime(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  let at = Number.NaN;
  if (/^\d+$/.test(text)) at = now + Number(text) * 1_000;
  else if (HTTP_DATE.some((form) => form.test(text))) at = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return at > now ? Math.min(at, now + MAX_RETRY_AFTER_MS) : undefined;
}
