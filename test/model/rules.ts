/** A delivery: the endpoint's URL and the envelope. */
interface Sent {
  readonly url: string;
  readonly body: string;
  /** Partition and shard. */
  readonly unit: string;
}

const keyOf = ({ url, body }: Sent): string => `${url} ${body}`;

/** Rules that no state of a store shows: what a worker may do when. The first that is broken is kept. */
export class Rules {
  readonly #answered = new Map<number, Sent[]>();
  readonly #marked = new Set<string>();
  readonly #refused = new Set<string>();
  readonly #owners = new Map<string, number>();
  broken: string | undefined;
  /** Other faults than a crash let a delivery be repeated although its mark was written. */
  onlyCrashes = true;

  /** A straight attempt was answered 2xx to this worker. */
  answered(member: number, sent: Sent): void {
    const all = this.#answered.get(member) ?? [];
    this.#answered.set(member, all);
    all.push(sent);
  }

  /** What this worker was told before it sent a flush is marked once that is written. */
  flushing(member: number, unit: string): () => void {
    const told = (this.#answered.get(member) ?? []).filter((sent) => sent.unit === unit);
    return () => {
      const owner = this.#owners.get(unit) ?? member;
      if (owner !== member) this.broken ??= `worker ${member} writes to ${unit}, which worker ${owner} owns`;
      for (const sent of told) this.#marked.add(keyOf(sent));
    };
  }

  /** A first attempt, straight from the log. */
  attempting(sent: Sent): void {
    if (this.onlyCrashes && this.#marked.has(keyOf(sent)))
      this.broken ??= `attempted again although its mark was written: ${keyOf(sent)}`;
  }

  owned(member: number, unit: string): void {
    this.#owners.set(unit, member);
  }

  /** A shard may have forgotten who owns what. */
  wentBack(shard: number): void {
    for (const unit of this.#owners.keys()) if (unit.endsWith(`/${shard}`)) this.#owners.delete(unit);
  }

  /** @param token under which the flush was refused */
  refused(member: number, unit: string, token: string): void {
    this.#refused.add(`${member} ${token} ${unit}`);
  }

  /** A heartbeat succeeded, the group was joined, or the connection to a shard stands again. */
  mayOwn(member: number, shard?: number): void {
    const end = shard === undefined ? '' : `/${shard}`;
    for (const key of this.#refused) if (key.startsWith(`${member} `) && key.endsWith(end)) this.#refused.delete(key);
  }

  owning(member: number, unit: string, token: string): void {
    if (this.#refused.has(`${member} ${token} ${unit}`))
      this.broken ??= `worker ${member} owns ${unit} again after a refused flush without a heartbeat`;
  }
}
