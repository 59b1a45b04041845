import { type Keyring, kidOf } from '@relay/keyring';
import { type ProblemError, unavailable } from '@relay/problem';
import { generationAt, hashesOfCredential, hashesOfSecret, isLiveGeneration, provenSecret } from './client.js';
import type { ClientRecord, CredentialType } from './client.js';
import type { ClientStore } from './redis-client-store.adapter.js';

/** A client that has authenticated with a secret, and the generation of that secret. */
export type ProvenClient = ClientRecord & { readonly provenGeneration: number };

/** The members of a token that decide whether the token is still valid. */
type IssuedFor = Readonly<Pick<ClientRecord, 'clientId' | 'generation'>>;

interface Seen {
  readonly client: ClientRecord;
  /** Value of `#epoch` when the client was read. */
  readonly epoch: number;
}

interface Proven {
  readonly clientId: string;
  /** Hash of the credential under the key that is used for writing. */
  readonly hash: string;
}

/**
 * Cache of clients. With it, a request needs no round trip, and clients that were seen before are known while the store does
 * not answer. `refresh` reads the version of the store. If the version has changed or cannot be read, every client is read
 * again at its next use. If that read fails, the cached client is used. A client that was never seen is then reported as
 * `unavailable`, but not refused.
 */
export class ClientDirectory {
  readonly #seen: BoundedMemory<Seen>;
  readonly #idByCredential: BoundedMemory<string>;
  /**
   * Proven credentials by their text. Without this cache, each request needs an HMAC under each key, which costs more than
   * all of its other checks.
   */
  readonly #proven: TextMemory<Proven>;
  readonly #renewals: HashRenewals;
  /** All fixed credentials. They are read when a search needs them for the first time. */
  #listed: { readonly epoch: number; readonly ids: Promise<ReadonlyMap<string, string>> } | undefined;
  #epoch = 0;
  #version: string | undefined;

  constructor(
    private readonly store: ClientStore,
    private readonly keyring: Keyring,
    limit = 10_000,
  ) {
    this.#seen = new BoundedMemory(limit);
    this.#idByCredential = new BoundedMemory(limit);
    this.#proven = new TextMemory(limit);
    this.#renewals = new HashRenewals(store, limit);
  }

  /**
   * Called every few seconds. A change of a client reaches this process at the next call. Rejects if the store does not
   * answer.
   */
  async refresh(): Promise<void> {
    this.#renewals.refreshed();
    try {
      const version = await this.store.version();
      if (version !== this.#version) this.#epoch += 1;
      this.#version = version;
    } catch (error) {
      this.#version = undefined;
      throw error;
    }
  }

  /**
   * Returns an enabled client; undefined if it does not exist or is disabled.
   * @throws ProblemError `unavailable`
   */
  async find(clientId: string): Promise<ClientRecord | undefined> {
    const seen = this.#seen.get(clientId);
    const client = seen?.epoch === this.#epoch ? seen.client : await this.#read(clientId, seen);
    return client?.disabled === false ? client : undefined;
  }

  /**
   * Whether this partner exists, even if it is disabled. If the store does not answer, returns true for every id that was
   * never seen.
   */
  async isPartner(clientId: string): Promise<boolean> {
    try {
      // Clients are never deleted, so a client that was seen still exists.
      const client = this.#seen.get(clientId)?.client ?? (await this.#read(clientId, undefined));
      return client?.kind === 'partner';
    } catch {
      return true;
    }
  }

  /**
   * Returns the client of a token if the client is enabled and the secret with which the token was obtained is still valid.
   * @throws ProblemError `unavailable`
   */
  async findByToken(token: IssuedFor): Promise<ClientRecord | undefined> {
    const client = await this.find(token.clientId);
    return client !== undefined && isLiveGeneration(client, token.generation) ? client : undefined;
  }

  /** Works like `findByToken`, but reads memory only. Returns undefined if only `findByToken` can decide. */
  knownByToken(token: IssuedFor): ClientRecord | undefined {
    const seen = this.#seen.get(token.clientId);
    if (seen?.epoch !== this.#epoch || seen.client.disabled) return undefined;
    return isLiveGeneration(seen.client, token.generation) ? seen.client : undefined;
  }

  /**
   * Returns the client if it is enabled and the secret is valid. An unknown client takes as long as a wrong secret.
   * @throws ProblemError `unavailable`, also if this process lacks the key of the client's secrets
   */
  async findBySecret(clientId: string, secret: string): Promise<ProvenClient | undefined> {
    const client = await this.find(clientId);
    const place = provenSecret(this.keyring, client, clientId, secret);
    if (place === undefined) this.#assertComparable(client?.secretHashes ?? []);
    if (place === undefined || client === undefined) return undefined;
    const [current = '', ...olderOnes] = hashesOfSecret(this.keyring, clientId, secret);
    const older = client.secretHashes.find((hash) => olderOnes.includes(hash));
    if (older !== undefined) this.#renewals.renew(clientId, older, current);
    return { ...client, provenGeneration: generationAt(client, place) };
  }

  /**
   * Returns the source that has this fixed credential. For the type `basic`, the credential is `userName:password`.
   * @throws ProblemError `unavailable`
   */
  async findByCredential(type: CredentialType, credential: string): Promise<ClientRecord | undefined> {
    return this.#clientWith(type, credential, (hashes) => orUnavailable(() => this.store.findIdByCredential(hashes)));
  }

  /**
   * Works like `findByCredential`, but searches a list of all credentials, which is read once for each version of the store.
   * An unknown credential therefore costs the store nothing. A new credential is found at the latest after the next
   * `refresh`.
   * @throws ProblemError `unavailable`
   */
  async findListedCredential(type: CredentialType, credential: string): Promise<ClientRecord | undefined> {
    return this.#clientWith(type, credential, async (hashes) => {
      const listed = await this.#credentials();
      return hashes.map((hash) => listed.get(hash)).find((id) => id !== undefined);
    });
  }

  async #clientWith(
    type: CredentialType,
    credential: string,
    ask: (hashes: readonly string[]) => Promise<string | undefined>,
  ): Promise<ClientRecord | undefined> {
    const text = `${type} ${credential}`;
    const proven = this.#proven.get(text);
    if (proven !== undefined) {
      const known = await this.find(proven.clientId);
      if (known?.credential?.hash === proven.hash) return known;
    }
    const hashes = hashesOfCredential(this.keyring, type, credential);
    const key = hashes.join(' ');
    const clientId = this.#idByCredential.get(key) ?? (await ask(hashes));
    const client = clientId === undefined ? undefined : await this.find(clientId);
    if (clientId === undefined || client?.credential === undefined || !hashes.includes(client.credential.hash)) {
      // If the hash of a stored credential is under a key that is missing here, this credential may be that one.
      if (this.keyring.missing.size > 0) this.#assertComparable([...(await this.#credentials()).keys()]);
      return undefined;
    }
    this.#idByCredential.set(key, clientId);
    const [current = ''] = hashes;
    if (client.credential.hash !== current) this.#renewals.renew(clientId, client.credential.hash, current);
    else this.#proven.set(text, { clientId, hash: current });
    return client;
  }

  /**
   * @throws ProblemError `unavailable` if a hash is under a key that only other processes have, because the secret may be
   *   valid
   */
  #assertComparable(hashes: readonly string[]): void {
    const kid = hashes.map(kidOf).find((each) => this.keyring.missing.has(each));
    if (kid !== undefined) throw away(new Error(`ENCRYPTION_KEYS lacks ${kid}`));
  }

  /** Returns all credentials. Concurrent callers share one read of the store. */
  #credentials(): Promise<ReadonlyMap<string, string>> {
    if (this.#listed?.epoch === this.#epoch) return this.#listed.ids;
    const listed = { epoch: this.#epoch, ids: orUnavailable(() => this.store.credentials()) };
    this.#listed = listed;
    listed.ids.catch(() => {
      if (this.#listed === listed) this.#listed = undefined;
    });
    return listed.ids;
  }

  async #read(clientId: string, seen: Seen | undefined): Promise<ClientRecord | undefined> {
    const epoch = this.#epoch;
    try {
      const client = await this.store.find(clientId);
      if (client === undefined) this.#seen.delete(clientId);
      else this.#seen.set(clientId, { client, epoch });
      return client;
    } catch (cause) {
      if (seen !== undefined) return seen.client;
      throw away(cause);
    }
  }
}

async function orUnavailable<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
    throw away(cause);
  }
}

const away = (cause: unknown): ProblemError => unavailable('Clients cannot be looked up at the moment.', 2, cause);

/** Minimum number of refreshes between two renewals for one client. With a refresh every two seconds, this is 10 minutes. */
const REFRESHES_BETWEEN = 300;

/**
 * Replaces a client's hash by a hash under the key that is used for writing, so that older keys can be removed. This is
 * possible only when the client presents its secret. Renewals run in the background. They are rare, because processes with
 * different writing keys undo each other's renewals, and each renewal is a record of the registry.
 */
class HashRenewals {
  readonly #renewed: BoundedMemory<number>;
  #refreshes = 0;

  constructor(
    private readonly store: ClientStore,
    limit: number,
  ) {
    this.#renewed = new BoundedMemory(limit);
  }

  /** Counts a refresh of the directory. Renewals use this count as their clock. */
  refreshed(): void {
    this.#refreshes += 1;
  }

  /** Replaces the older hash by the current hash if the client still has the older one. */
  renew(clientId: string, older: string, current: string): void {
    const last = this.#renewed.get(clientId);
    if (last !== undefined && this.#refreshes - last < REFRESHES_BETWEEN) return;
    this.#renewed.set(clientId, this.#refreshes);
    // The client is already authenticated, so a failure changes nothing. A later use tries again.
    this.store.replace(clientId, (client) => renewed(client, older, current)).catch(() => undefined);
  }
}

/** Returns the client with the current hash; the same object if the client does not have the older hash. */
function renewed(client: ClientRecord, older: string, current: string): ClientRecord {
  if (client.credential?.hash === older) return { ...client, credential: { ...client.credential, hash: current } };
  if (!client.secretHashes.includes(older)) return client;
  return { ...client, secretHashes: client.secretHashes.map((hash) => (hash === older ? current : hash)) };
}

/** A map of at most `limit` entries. A further entry evicts the entry that was written longest ago. */
export class BoundedMemory<V> {
  readonly #entries = new Map<string, V>();

  constructor(private readonly limit: number) {}

  get(key: string): V | undefined {
    return this.#entries.get(key);
  }

  set(key: string, value: V): void {
    // A Map keeps the order of insertion, so an entry that is written again becomes the newest.
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.limit) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}

/**
 * Number of characters at the end of a text that are used as its key. They are 256 bits of a secret. With the whole token as
 * the key, the Map hashes the whole token, which costs as much as SHA-256.
 */
const KEY_LENGTH = 43;
/** Maximum number of characters of a text that is kept. It limits the memory. */
const MAX_LENGTH = 2_048;

/**
 * Keeps values by secret texts that were proven: tokens or fixed credentials. If a caller does not know the end of a text,
 * the time of a search reveals nothing about that text.
 */
export class TextMemory<V> {
  readonly #entries: BoundedMemory<{ readonly text: string; readonly value: V }>;

  constructor(limit: number) {
    this.#entries = new BoundedMemory(limit);
  }

  get(text: string): V | undefined {
    const found = this.#entries.get(text.slice(-KEY_LENGTH));
    return found?.text === text ? found.value : undefined;
  }

  set(given: string, value: V): void {
    if (given.length > MAX_LENGTH) return;
    // The text is copied, because otherwise V8 keeps the whole header of which the text is a part.
    const text = Buffer.from(given).toString();
    this.#entries.set(text.slice(-KEY_LENGTH), { text, value });
  }
}
