/** The origins that answered 2xx within the last 30 days. */
export abstract class OriginProofs {
  /** The origin has answered 2xx. @throws when the store is away */
  abstract prove(origin: string): Promise<void>;
  /** When these origins last answered 2xx, without those that have not. @throws when the store is away */
  abstract proven(origins: readonly string[]): Promise<ReadonlyMap<string, number>>;
}
