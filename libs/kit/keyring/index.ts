// Owns the keys with which the relay protects stored data: it encrypts credentials and signing secrets, and makes keyed
// hashes of client secrets and API keys. Guarantees that a value can be decrypted only in the context for which it was
// encrypted. One key is used to encrypt, and several keys can decrypt. Leaves the source of the keys (ENCRYPTION_KEYS) and
// the storage of the values to its users.
import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';

interface Key {
  readonly kid: string;
  readonly encryption: KeyObject;
  readonly hashing: KeyObject;
}

/**
 * Length of an authentication tag in bytes (NIST SP 800-38D section 5.2.1.2). By default Node also accepts shorter tags,
 * which are easier to guess.
 */
const TAG = { authTagLength: 16 };

/** Thrown if no key of this process can decrypt a value. */
export class CannotOpen extends Error {
  override readonly name = 'CannotOpen';

  /** @param isElsewhere whether the registry knows the key that is missing here, so other processes may have it */
  constructor(
    message: string,
    readonly isElsewhere: boolean,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}

/** Names of the place in which a value is stored. If a value is moved to another place, it cannot be decrypted there. */
export type Context = readonly string[];

/**
 * The encryption keys of the relay (`ENCRYPTION_KEYS`). The first key encrypts, and all keys can decrypt, so keys can be
 * rotated while values under an older key exist. Values are encrypted by AES-256-GCM with a random 96-bit IV and the context
 * as additional data. Secrets are hashed by HMAC-SHA256. Both use keys that HKDF (RFC 5869) derives from the configured
 * keys.
 */
export class Keyring {
  readonly #keys: readonly Key[];

  /** Names of keys that stored values may need but this process does not have, by the last check against the registry. */
  missing: ReadonlySet<string> = new Set();

  private constructor(keys: readonly Key[]) {
    this.#keys = keys;
  }

  /** @throws Error that names an invalid entry by its position and never repeats its value */
  static parse(text: string): Keyring {
    const keys = text.split(',').map((entry, index) => {
      const [kid = '', encoded = ''] = entry.trim().split(':');
      const raw = Buffer.from(encoded, 'base64');
      if (!/^[\w-]{1,32}$/.test(kid) || raw.length !== 32)
        throw new Error(`ENCRYPTION_KEYS: entry ${index + 1} is not kid:base64 of 32 bytes`);
      return { kid, encryption: derive(raw, 'encryption'), hashing: derive(raw, 'hashing') };
    });
    if (new Set(keys.map((key) => key.kid)).size !== keys.length)
      throw new Error('ENCRYPTION_KEYS: a kid occurs twice');
    return new Keyring(keys);
  }

  /** Names of the keys, beginning with the key that encrypts. */
  get kids(): readonly string[] {
    return this.#keys.map(({ kid }) => kid);
  }

  /** A check value for each name of a key. It is not secret, and it differs if two keys have the same name. */
  get checks(): ReadonlyMap<string, string> {
    return new Map(this.#keys.map((key) => [key.kid, hashWith(key, '', ['key check'])]));
  }

  get #writing(): Key {
    return this.#keys[0] as Key;
  }

  /** Returns `v1.<kid>.<base64url of iv, tag and ciphertext>`. */
  encrypt(plaintext: string, context: Context, iv: Buffer): string {
    const key = this.#writing;
    const cipher = createCipheriv('aes-256-gcm', key.encryption, iv, TAG).setAAD(bytesOf(context));
    const body = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()]);
    return `v1.${key.kid}.${Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64url')}`;
  }

  /**
   * @throws CannotOpen if this process does not have the key, or if the value was changed or was encrypted for another
   * context
   */
  decrypt(sealed: string, context: Context): string {
    const [version, kid = '', encoded = ''] = sealed.split('.');
    try {
      const key = this.#keys.find((candidate) => candidate.kid === kid);
      if (version !== 'v1' || key === undefined) throw new Error('There is no such key');
      const raw = Buffer.from(encoded, 'base64url');
      const decipher = createDecipheriv('aes-256-gcm', key.encryption, raw.subarray(0, 12), TAG)
        .setAAD(bytesOf(context))
        .setAuthTag(raw.subarray(12, 28));
      return Buffer.concat([decipher.update(raw.subarray(28)), decipher.final()]).toString('utf8');
    } catch (cause) {
      const text = this.kids.includes(kid)
        ? `Key ${kid} does not open this record: it was changed, or belongs elsewhere`
        : `No key ${kid} in ENCRYPTION_KEYS opens this record`;
      throw new CannotOpen(text, this.missing.has(kid), cause);
    }
  }

  /** Returns the form in which a secret is stored: `<kid>.<base64url HMAC-SHA256>`, made with the first key. */
  hash(secret: string, context: Context): string {
    return hashWith(this.#writing, secret, context);
  }

  /**
   * Returns one hash of the secret for each key, beginning with the first key. A stored hash may have been made with any of
   * these keys, so callers compare it with all of the returned hashes.
   */
  hashes(secret: string, context: Context): string[] {
    return this.#keys.map((key) => hashWith(key, secret, context));
  }
}

/** Returns the name of the key of an encrypted value or a hash, which is its second-to-last part. */
export const kidOf = (made: string): string => made.split('.').at(-2) ?? '';

// Returns a key object. Node would otherwise make one from the buffer at each call, which takes longer than the hash itself.
const derive = (raw: Buffer, use: string): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync('sha256', raw, '', `partner-relay ${use}`, 32)));

// Each part is preceded by its length, so that ['a','bc'] and ['ab','c'] result in different bytes.
const bytesOf = (context: Context): Buffer =>
  Buffer.from(context.map((part) => `${Buffer.byteLength(part)}:${part}`).join(''), 'utf8');

const hashWith = (key: Key, secret: string, context: Context): string =>
  `${key.kid}.${createHmac('sha256', key.hashing).update(bytesOf(context)).update('\0').update(secret).digest('base64url')}`;
