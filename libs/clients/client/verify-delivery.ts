import { createHmac, timingSafeEqual } from 'node:crypto';

/** Headers of a request, in the form of Node's `http` or of `fetch`. */
export type DeliveryHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/** Result of the verification of a delivery. */
export type Verification =
  | {
      readonly genuine: true;
      /** Id of the envelope. Repeated deliveries of an envelope have the same id, so store the id to recognize them. */
      readonly id: string;
      /** Epoch seconds of this attempt. */
      readonly timestamp: number;
    }
  | {
      readonly genuine: false;
      readonly reason: 'header-missing' | 'timestamp-invalid' | 'too-old' | 'too-new' | 'no-matching-signature';
    };

/** The tolerance that Standard Webhooks recommends. */
const TOLERANCE_SECONDS = 300;

/**
 * Verifies a delivery by Standard Webhooks 1.0.0. It is genuine if one of its signatures was made with one of the secrets,
 * and if its time differs from `now` by at most five minutes. Signatures are compared in constant time.
 * @param body the received bytes, or the same text unchanged; never JSON that was parsed and serialized again
 * @param secrets `whsec_…`; pass several secrets while you rotate them
 * @param now epoch milliseconds; the time of this machine by default
 * @throws RangeError if there is no secret, if a secret is not `whsec_` followed by the base64 of 24 to 64 bytes, or if
 *   `now` is not a finite number
 */
export function verifyDelivery(
  headers: DeliveryHeaders,
  body: Uint8Array | string,
  secrets: string | readonly string[],
  now: number = Date.now(),
): Verification {
  const keys = [secrets].flat().map(keyOf);
  if (keys.length === 0) throw new RangeError('no secret to verify with');
  if (!Number.isFinite(now)) throw new RangeError('the time to verify with is none');
  const [id, time, given] = ['id', 'timestamp', 'signature'].map((name) => headerOf(headers, `webhook-${name}`));
  if (!id || !time || !given) return { genuine: false, reason: 'header-missing' };
  if (!/^\d{1,12}$/.test(time)) return { genuine: false, reason: 'timestamp-invalid' };
  const ageSeconds = now / 1_000 - Number(time);
  if (ageSeconds > TOLERANCE_SECONDS) return { genuine: false, reason: 'too-old' };
  if (ageSeconds < -TOLERANCE_SECONDS) return { genuine: false, reason: 'too-new' };
  const signatures = given.split(' ').map((signature) => Buffer.from(signature));
  const fits = keys
    .map((key) => createHmac('sha256', key).update(`${id}.${time}.`).update(body).digest('base64'))
    .map((mac) => Buffer.from(`v1,${mac}`))
    .some((expected) => signatures.some((signature) => isSame(signature, expected)));
  return fits ? { genuine: true, id, timestamp: Number(time) } : { genuine: false, reason: 'no-matching-signature' };
}

const isSame = (one: Buffer, other: Buffer): boolean => one.length === other.length && timingSafeEqual(one, other);

function headerOf(headers: DeliveryHeaders, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof found === 'string' ? found : found?.join(' ');
}

// The error message must not contain the secret.
function keyOf(secret: string): Buffer {
  const [, base64] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? [];
  const key = Buffer.from(base64 ?? '', 'base64');
  if (key.length < 24 || key.length > 64)
    throw new RangeError('a secret is not whsec_ and the base64 of 24 to 64 bytes');
  return key;
}
