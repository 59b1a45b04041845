/** A delivery: the endpoint's URL and the envelope. */
interface Sent {
  readonly url: string;
  readonly body: string;
  readonly partition: number;
}

const keyOf = ({ url, body }: Sent): string => `${url} ${body}`;

/** Rules that no state of a store shows: what a worker may do when. The first that is broken is kept. */
export class Rules {
  readonly #answered = new Map<number, Sent[]>();
  readonly #marked = new Set<string>();
  readonly #refused = new Set<string>();
  readonly #owners = new Map<number, number>();
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
  flushing(member: number, partition: number): () => void {
    const told = (this.#answered.get(member) ?? []).filter((sent) => sent.partition === partition);
    return () => {
      const owner = this.#owners.get(partition) ?? member;
      if (owner !== member) this.broken ??= `worker ${member} writes to ${partition}, which worker ${owner} owns`;
      for (const sent of told) this.#marked.add(keyOf(sent));
    };
  }

  /** A first attempt, straight from the log. */
  attempting(sent: Sent): void {
    if (this.onlyCrashes && this.#marked.has(keyOf(sent)))
      this.broken ??= `attempted again although its mark was written: ${keyOf(sent)}`;
  }

  owned(member: number, partition: number): void {
    this.#owners.set(partition, member);
  }

  /** Redis may have forgotten who owns what. */
  wentBack(): void {
    this.#owners.clear();
  }

  refused(member: number, partition: number): void {
    this.#refused.add(`${member} ${partition}`);
  }

  /** A heartbeat succeeded, the group was joined or Redis reconnected. */
  mayOwn(member: number): void {
    for (const key of this.#refused) if (key.startsWith(`${member} `)) this.#refused.delete(key);
  }

  owning(member: number, partition: number): void {
    if (this.#refused.has(`${member} ${partition}`))
      this.broken ??= `worker ${member} owns ${partition} again after a refused flush without a heartbeat`;
  }
}
