/** Describes a fault for the operator, or returns undefined without one. Cheap and synchronous: it reads a state and sends no request. */
export type HealthCheck = () => string | undefined;

/**
 * Health of a process. Liveness fails only when a restart would help; readiness fails while the process cannot do its work, and
 * recovers by itself. Both derive from the state of producer, consumer and Redis, never from a new probe, which could succeed
 * beside a dead consumer.
 */
export class Health {
  readonly #live = new Map<string, HealthCheck>();
  readonly #ready = new Map<string, HealthCheck>();

  live(name: string, check: HealthCheck): void {
    this.#live.set(name, check);
  }

  ready(name: string, check: HealthCheck): void {
    this.#ready.set(name, check);
  }

  get liveFaults(): Record<string, string> {
    return faultsOf(this.#live);
  }

  /** A process that is not live is not ready either. */
  get readyFaults(): Record<string, string> {
    return { ...faultsOf(this.#live), ...faultsOf(this.#ready) };
  }
}

function faultsOf(checks: ReadonlyMap<string, HealthCheck>): Record<string, string> {
  const faults: Record<string, string> = {};
  for (const [name, check] of checks) {
    const fault = check();
    if (fault !== undefined) faults[name] = fault;
  }
  return faults;
}
