// Owns the relay's keys for data at rest: encryption of credentials and signing secrets, keyed hashes of client secrets and API
// keys.
// Guarantees that a record opens only in the context it was written for, and that several keys can read while one writes.
// Leaves to its users the source of the keys (ENCRYPTION_KEYS) and the place of the records.
import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';

interface Key {
  readonly kid: string;
  readonly encryption: KeyObject;
  readonly hashing: KeyObject;
}

/** Length of a tag in bytes (NIST SP 800-38D section 5.2.1.2). Without it Node accepts shorter tags, easier to guess. */
const TAG = { authTagLength: 16 };

/** Thrown when no key of this process opens a value. */
export class CannotOpen extends Error {
  override readonly name = 'CannotOpen';

  /** @param isElsewhere whether the registry knows the key, which is missing here, so another process can open the value */
  constructor(
    message: string,
    readonly isElsewhere: boolean,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}

/** Names of the place of a value. A record that is moved to another place does not open there. */
export type Context = readonly string[];

/**
 * The encryption keys of the relay (`ENCRYPTION_KEYS`): the first writes, all read, so a key can be rotated while old
 * records exist. Values are AES-256-GCM with a random 96-bit IV and the context as additional data;
 * hashes of secrets are HMAC-SHA256. Both use keys derived by HKDF (RFC 5869), never the configured one itself.
 */
export class Keyring {
  readonly #keys: readonly Key[];

  /** Names of keys that stored values may need and that this process lacks, as of the last check of the registry. */
  missing: ReadonlySet<string> = new Set();

  private constructor(keys: readonly Key[]) {
    this.#keys = keys;
  }

  /** @throws Error that names the faulty entry by its position, never its value */
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

  /** Names of the keys, the writing one first. */
  get kids(): readonly string[] {
    return this.#keys.map(({ kid }) => kid);
  }

  /** A check value of each key, by the key's name. It is no secret, and differs between keys with the same name. */
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

  /** @throws CannotOpen if this process lacks the key, or the record was changed or belongs to another place */
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

  /** Returns `<kid>.<base64url HMAC-SHA256>` under the writing key; the stored form of a secret. */
  hash(secret: string, context: Context): string {
    return hashWith(this.#writing, secret, context);
  }

  /** Returns the hash under every key, the writing key first: a stored hash may be under an older key. */
  hashes(secret: string, context: Context): string[] {
    return this.#keys.map((key) => hashWith(key, secret, context));
  }
}

/** Returns the name of the key of a sealed record or a hash: its last part but one. */
export const kidOf = (made: string): string => made.split('.').at(-2) ?? '';

// Returns a key object, because Node turns a buffer into one at every call, which costs more than the hash itself.
const derive = (raw: Buffer, use: string): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync('sha256', raw, '', `partner-relay ${use}`, 32)));

// Writes each length first, so that ['a','bc'] and ['ab','c'] never give the same bytes.
const bytesOf = (context: Context): Buffer =>
  Buffer.from(context.map((part) => `${Buffer.byteLength(part)}:${part}`).join(''), 'utf8');

const hashWith = (key: Key, secret: string, context: Context): string =>
  `${key.kid}.${createHmac('sha256', key.hashing).update(bytesOf(context)).update('\0').update(secret).digest('base64url')}`;
