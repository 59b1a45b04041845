/** Who asks for a turn at an origin. */
export interface TurnAsked {
  readonly origin: string;
  /** Partner and origin: endpoints take turns. */
  readonly endpoint: string;
  /** Gives the turn back; no other has it. */
  readonly token: string;
  /** A turn that is not given back ends by itself after so long: its worker died. */
  readonly leaseMs: number;
}

export type Turn =
  | {
      readonly kind: 'proven';
      /** When the origin last answered 2xx, as far as it was told. */
      readonly at: number;
    }
  | { readonly kind: 'granted' }
  | {
      readonly kind: 'refused';
      /** So long until the endpoint may expect a turn, which is kept for it. */
      readonly waitMs: number;
      /** Endpoints that have turns, this one included. */
      readonly rivals: number;
    };

/**
 * Which origins have answered 2xx within the last 30 days. The others get one attempt at a time and one a second, over all
 * webhooks, partners and workers: their endpoints take turns.
 */
export abstract class OriginProofs {
  /** @throws when the store is away */
  abstract turn(asked: TurnAsked): Promise<Turn>;
  /** @param isUsed whether an attempt was made, so that the next comes a second after it began. @throws when the store is away */
  abstract giveBack(origin: string, token: string, isUsed: boolean): Promise<void>;
  /** The origin has answered 2xx. @throws when the store is away */
  abstract prove(origin: string): Promise<void>;
  /** When these origins last answered 2xx; those that have not are left out. @throws when the store is away */
  abstract proven(origins: readonly string[]): Promise<ReadonlyMap<string, number>>;
}
