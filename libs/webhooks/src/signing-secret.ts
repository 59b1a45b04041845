// Standard Webhooks 1.0.0: a symmetric secret is `whsec_` and the base64 of 24 to 64 random bytes.
const [MIN_BYTES, MAX_BYTES] = [24, 64];

/**
 * The signing secret made of these random bytes.
 * @throws RangeError unless there are 24 to 64
 */
export function newSigningSecret(randomBytes: Buffer): string {
  const { length } = randomBytes;
  if (length < MIN_BYTES || length > MAX_BYTES)
    throw new RangeError(`a signing secret has ${length} bytes instead of ${MIN_BYTES} to ${MAX_BYTES}`);
  return `whsec_${randomBytes.toString('base64')}`;
}
