/** A refused job comes back within this time, or its reservation lapses. */
const RESERVED_MS = 1_000;

/** Slots reserved for queued jobs that found all slots taken; without them waiting deliveries would take each free slot first. */
export class ReservedSlots {
  #count = 0;
  #until = 0;

  constructor(private readonly maximum: number) {}

  /** A queued job found no slot. */
  refused(now: number): void {
    this.#count = Math.min(this.maximum, this.countAt(now) + 1);
    this.#until = now + RESERVED_MS;
  }

  /** A queued job got a slot. */
  taken(): void {
    this.#count = Math.max(0, this.#count - 1);
  }

  countAt(now: number): number {
    return now < this.#until ? this.#count : 0;
  }
}
