/** Longer than any tolerance for clocks: a revocation outlives every acceptance of its token. */
const KEPT_AFTER_END_S = 60;

interface Entry {
  readonly clientId: string;
  /** Expiry of the last token that it revokes, epoch seconds. */
  readonly endsAtS: number;
}

export interface SingleRevocation extends Entry {
  readonly kind: 'single';
  readonly jti: string;
  readonly issuedAtS: number;
}

/** The revocation of every token of a client that was issued before a second. */
export interface JointRevocation extends Entry {
  readonly kind: 'joint';
  readonly beforeS: number;
}

export type Revocation = SingleRevocation | JointRevocation;

/** A revocation and its place in the log, by which it can be deleted. */
export interface LoggedRevocation {
  readonly revocation: Revocation;
  readonly place: string;
}

interface OfClient {
  readonly singles: Map<string, { readonly revocation: SingleRevocation; readonly place: string }>;
  joint: { readonly revocation: JointRevocation; readonly place: string } | undefined;
}

/** The entry to write for a revocation, and the entries that it replaces. */
export interface RevocationPlan {
  readonly revocation: Revocation;
  readonly replaced: readonly string[];
}

/**
 * The revocations of all clients that still have an effect. A client has a bounded number of them: one more revokes its tokens
 * together, up to the newest one revoked singly, and replaces all its entries.
 */
export class Revocations {
  readonly #byClient = new Map<string, OfClient>();

  /** @param singlesOfClient largest number of single revocations of a client */
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

  plan(revocation: SingleRevocation): RevocationPlan {
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

  /** Drops those whose tokens have expired. */
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
