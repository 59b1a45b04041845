import type { Redis } from 'ioredis';
import { defineScript, globalKey, runScript } from '@relay/redis';
import { z } from 'zod';

// Tokens that `POST /auth/revoke` ends. A rotation of a secret that ends tokens raises the generation of the client instead
// (`identity`).

/**
 * Seconds for which a revocation is kept after the expiry of its token. This is longer than any clock tolerance with which
 * an expired token is still accepted.
 */
const KEPT_AFTER_END_S = 60;

interface Entry {
  readonly clientId: string;
  /** Epoch seconds at which the last token that the entry revokes expires. */
  readonly endsAtS: number;
}

export interface SingleRevocation extends Entry {
  readonly kind: 'single';
  readonly jti: string;
  readonly issuedAtS: number;
}

/** The revocation of every token of a client that was issued before `beforeS` (epoch seconds). */
interface JointRevocation extends Entry {
  readonly kind: 'joint';
  readonly beforeS: number;
}

type Revocation = SingleRevocation | JointRevocation;

/** A revocation and its id in the Redis stream. A later revocation needs that id to delete this one. */
interface LoggedRevocation {
  readonly revocation: Revocation;
  readonly place: string;
}

interface OfClient {
  readonly singles: Map<string, { readonly revocation: SingleRevocation; readonly place: string }>;
  joint: { readonly revocation: JointRevocation; readonly place: string } | undefined;
}

/**
 * The revocations of all clients that still have an effect. Each client can have a limited number of single revocations.
 * Beyond that number, one joint revocation replaces all entries of the client. The joint revocation covers all tokens of the
 * client up to the newest token that was revoked singly.
 */
export class Revocations {
  readonly #byClient = new Map<string, OfClient>();

  /** @param singlesOfClient maximum number of single revocations of one client */
  constructor(private readonly singlesOfClient: number) {}

  get size(): number {
    return [...this.#byClient.values()].reduce(
      (sum, { singles, joint }) => sum + singles.size + (joint === undefined ? 0 : 1),
      0,
    );
  }

  has({ clientId, jti, issuedAtS }: { clientId: string; jti: string; issuedAtS: number }): boolean {
    return issuedAtS < this.notBeforeS(clientId) || this.#byClient.get(clientId)?.singles.has(jti) === true;
  }

  notBeforeS(clientId: string): number {
    return this.#byClient.get(clientId)?.joint?.revocation.beforeS ?? 0;
  }

  /** Returns the entry to write for a revocation, and the stream ids of the entries that the new entry replaces. */
  plan(revocation: SingleRevocation): { readonly revocation: Revocation; readonly replaced: readonly string[] } {
    const { singles, joint } = this.#byClient.get(revocation.clientId) ?? NONE;
    if (singles.size < this.singlesOfClient) return { revocation, replaced: [] };
    const ended = [revocation, ...[...singles.values()].map((single) => single.revocation)];
    const together = joint === undefined ? ended : [...ended, joint.revocation];
    return {
      revocation: {
        kind: 'joint',
        clientId: revocation.clientId,
        beforeS: Math.max(...ended.map(({ issuedAtS }) => issuedAtS)) + 1,
        endsAtS: Math.max(...together.map(({ endsAtS }) => endsAtS)),
      },
      replaced: [...singles.values(), ...(joint === undefined ? [] : [joint])].map(({ place }) => place),
    };
  }

  add({ revocation, place }: LoggedRevocation): void {
    const known = this.#byClient.get(revocation.clientId) ?? { singles: new Map(), joint: undefined };
    this.#byClient.set(revocation.clientId, known);
    if (revocation.kind === 'single') {
      if (!this.has(revocation)) known.singles.set(revocation.jti, { revocation, place });
      return;
    }
    if (revocation.beforeS < this.notBeforeS(revocation.clientId)) return;
    known.joint = { revocation, place };
    for (const [jti, { revocation: single }] of known.singles)
      if (single.issuedAtS < revocation.beforeS) known.singles.delete(jti);
  }

  /** Drops revocations whose tokens have expired. */
  forget(nowS: number): void {
    const isOver = ({ endsAtS }: Entry): boolean => endsAtS < nowS - KEPT_AFTER_END_S;
    for (const [clientId, known] of this.#byClient) {
      for (const [jti, { revocation }] of known.singles) if (isOver(revocation)) known.singles.delete(jti);
      if (known.joint !== undefined && isOver(known.joint.revocation)) known.joint = undefined;
      if (known.singles.size === 0 && known.joint === undefined) this.#byClient.delete(clientId);
    }
  }
}

const NONE: OfClient = { singles: new Map(), joint: undefined };

const REVOKED = globalKey('tokens', 'revoked');
const START = '0-0';
const PAGE = 1_000;
const FIELD = 'r';

/** ARGV: lifetime of an entry in milliseconds, the oldest id to keep, the entry, and the stream ids to delete. */
const add = defineScript(
  'revocation-add',
  `
if #ARGV > 3 then redis.call('XDEL', KEYS[1], unpack(ARGV, 4)) end
local place = redis.call('XADD', KEYS[1], 'MINID', '~', ARGV[2], '*', '${FIELD}', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return place
`,
);

const Seconds = z.string().regex(/^\d+$/).transform(Number);
/**
 * An entry is either `client ends issued jti`, which revokes one token, or `client ends before`, which revokes all tokens of
 * the client that were issued before that time.
 */
const StoredEntry = z.union([
  z.tuple([z.string(), Seconds, Seconds, z.string()]).transform(([clientId, endsAtS, issuedAtS, jti]) => ({
    kind: 'single' as const,
    clientId,
    endsAtS,
    issuedAtS,
    jti,
  })),
  z
    .tuple([z.string(), Seconds, Seconds])
    .transform(([clientId, endsAtS, beforeS]) => ({ kind: 'joint' as const, clientId, endsAtS, beforeS })),
]);

/**
 * The Redis stream `tokens:revoked`, a log of revocations that every process reads. Each process reads only entries that are
 * new to it. Adding an entry deletes entries that are older than any token, and the stream expires with its last entry.
 * Methods reject while Redis does not answer.
 */
export class RedisRevocationStore {
  constructor(
    private readonly redis: Redis,
    /** Maximum lifetime of a token plus the tolerance for clocks, in ms. */
    private readonly keptMs: number,
    private readonly now: () => number,
  ) {}

  /**
   * Adds a revocation and deletes the revocations that it replaces, in one step.
   * @param replaced stream ids of the replaced revocations
   * @returns stream id of the new revocation
   */
  async add(revocation: Revocation, replaced: readonly string[]): Promise<string> {
    const oldest = Math.max(0, this.now() - this.keptMs);
    const args = [this.keptMs, oldest, textOf(revocation), ...replaced];
    return String(await runScript(this.redis, add, [REVOKED], args));
  }

  /** @param after `next` of the previous page; without it, reading starts with the oldest entry */
  async read(after: string = START): Promise<{ revocations: LoggedRevocation[]; next: string }> {
    const entries = await this.redis.xrange(REVOKED, `(${after}`, '+', 'COUNT', PAGE);
    return {
      revocations: entries.map(([place, [, text = '']]) => ({ revocation: StoredEntry.parse(text.split(' ')), place })),
      next: entries.at(-1)?.[0] ?? after,
    };
  }
}

const textOf = (revocation: Revocation): string => {
  const { clientId, endsAtS } = revocation;
  return revocation.kind === 'single'
    ? `${clientId} ${endsAtS} ${revocation.issuedAtS} ${revocation.jti}`
    : `${clientId} ${endsAtS} ${revocation.beforeS}`;
};

/** Maximum number of single revocations of one client. It limits the memory that one client can use. */
const SINGLES_OF_CLIENT = 1_000;

/**
 * Revoked access tokens in the memory of this process, so that checking a token needs no round trip. A revocation takes
 * effect at once in this process, and in every other process at its next `refresh`. While Redis does not answer, known
 * revocations stay in effect.
 */
export class RevokedTokens {
  /**
   * The latest pending revocation of each client. Revocations of a client run one after the other, because each depends on
   * the earlier ones.
   */
  readonly #underWay = new Map<string, Promise<void>>();
  #place: string | undefined;

  constructor(
    private readonly store: RedisRevocationStore,
    private readonly now: () => number,
    private readonly known = new Revocations(SINGLES_OF_CLIENT),
  ) {}

  has(token: { readonly clientId: string; readonly jti: string; readonly issuedAtS: number }): boolean {
    return this.known.has(token);
  }

  /** Returns a time in epoch seconds. Every token that was issued to the client before that time is revoked. */
  notBeforeS(clientId: string): number {
    return this.known.notBeforeS(clientId);
  }

  /** Revokes a token. Rejects if Redis does not answer, and then the token may still be valid. */
  async revoke(token: Omit<SingleRevocation, 'kind'>): Promise<void> {
    const { clientId } = token;
    const before = this.#underWay.get(clientId) ?? Promise.resolve();
    const own = before.catch(() => undefined).then(() => this.#revoke({ kind: 'single', ...token }));
    this.#underWay.set(clientId, own);
    try {
      await own;
    } finally {
      if (this.#underWay.get(clientId) === own) this.#underWay.delete(clientId);
    }
  }

  async #revoke(token: SingleRevocation): Promise<void> {
    if (this.known.has(token)) return;
    const { revocation, replaced } = this.known.plan(token);
    const place = await this.store.add(revocation, replaced);
    this.known.add({ revocation, place });
  }

  /** Reads new revocations and drops expired ones. Called every few seconds. Rejects if Redis does not answer. */
  async refresh(): Promise<void> {
    for (;;) {
      const before = this.#place;
      const { revocations, next } = await this.store.read(this.#place);
      for (const entry of revocations) this.known.add(entry);
      this.#place = next;
      if (next === before) break;
    }
    this.known.forget(this.now() / 1_000);
  }
}
