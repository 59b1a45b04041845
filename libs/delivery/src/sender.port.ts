import type { AttemptResult } from './outcome.js';
import type { DeliveryRequest } from './request.js';

/** Makes the HTTP request of one attempt. */
export abstract class Sender {
  /**
   * Never rejects: whatever happens on the way is a result. A final status counts from the moment its head has arrived;
   * the body cannot undo it. An aborted signal ends the attempt at once as failed.
   */
  abstract send(request: DeliveryRequest, signal?: AbortSignal): Promise<AttemptResult>;

  /** Waits for the attempts that run, each at most its deadline, then closes all connections. Later sends fail. */
  abstract close(): Promise<void>;
}
