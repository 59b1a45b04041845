import { createHmac, timingSafeEqual } from 'node:crypto';

/** Headers of a request as Node's `http` or as `fetch` has them. */
export type DeliveryHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/** Whether the relay signed a delivery, and the facts of its headers. */
export type Verification =
  | {
      readonly genuine: true;
      /** Id of the envelope, the same on every repeat: remember it with what you store. */
      readonly id: string;
      /** Epoch seconds of this attempt. */
      readonly timestamp: number;
    }
  | {
      readonly genuine: false;
      readonly reason: 'header-missing' | 'timestamp-invalid' | 'too-old' | 'too-new' | 'no-matching-signature';
    };

/** As Standard Webhooks advises. */
const TOLERANCE_SECONDS = 300;

/**
 * Verifies a delivery as Standard Webhooks 1.0.0 says: any of the secrets fits any of the signatures, which are compared in
 * constant time, and the attempt is at most five minutes away.
 * @param body the received bytes, or their unchanged text; never a text that was parsed and written again
 * @param secrets `whsec_…`; several while you rotate
 * @param now epoch milliseconds; the time of this machine unless given
 * @throws RangeError without a secret, for a secret that is not `whsec_` and the base64 of 24 to 64 bytes, and for a `now` that is no
 * time: with it every attempt is new enough
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

// The message never repeats the secret.
function keyOf(secret: string): Buffer {
  const [, base64] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? [];
  const key = Buffer.from(base64 ?? '', 'base64');
  if (key.length < 24 || key.length > 64)
    throw new RangeError('a secret is not whsec_ and the base64 of 24 to 64 bytes');
  return key;
}
