/** Time in ms within which a refused job comes back; otherwise its reservation lapses. */
const RESERVED_MS = 1_000;

/** Slots reserved for queued jobs that found all slots taken; otherwise waiting deliveries take each free slot first. */
export class ReservedSlots {
  #count = 0;
  #until = 0;

  constructor(private readonly maximum: number) {}

  /** Reserves a slot for a queued job that found none. */
  refused(now: number): void {
    this.#count = Math.min(this.maximum, this.countAt(now) + 1);
    this.#until = now + RESERVED_MS;
  }

  /** Ends the reservation of a queued job that got a slot. */
  taken(): void {
    this.#count = Math.max(0, this.#count - 1);
  }

  countAt(now: number): number {
    return now < this.#until ? this.#count : 0;
  }
}
