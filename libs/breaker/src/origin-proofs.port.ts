/** A request for a turn at an origin. */
export interface TurnRequest {
  readonly origin: string;
  /** Partner and origin: endpoints take turns. */
  readonly endpoint: string;
  /** Unique; gives the turn back. */
  readonly token: string;
  /** Milliseconds after which a turn ends by itself, when its worker died. */
  readonly leaseMs: number;
}

export type Turn =
  | {
      readonly kind: 'proven';
      /** When the origin last answered 2xx, by the last report. */
      readonly at: number;
    }
  | { readonly kind: 'granted' }
  | {
      readonly kind: 'refused';
      /** Milliseconds until the endpoint's next turn, which is reserved. */
      readonly waitMs: number;
      /** Number of endpoints with a reserved turn, this one included. */
      readonly rivals: number;
    };

/**
 * The origins that answered 2xx within the last 30 days. Any other origin gets one attempt at a time and one a second, over all
 * webhooks, partners and workers: its endpoints take turns.
 */
export abstract class OriginProofs {
  /** @throws when the store is away */
  abstract turn(request: TurnRequest): Promise<Turn>;
  /** @param isUsed whether an attempt was made: the next turn is a second after its begin. @throws when the store is away */
  abstract giveBack(origin: string, token: string, isUsed: boolean): Promise<void>;
  /** The origin has answered 2xx. @throws when the store is away */
  abstract prove(origin: string): Promise<void>;
  /** When these origins last answered 2xx, without those that have not. @throws when the store is away */
  abstract proven(origins: readonly string[]): Promise<ReadonlyMap<string, number>>;
}
