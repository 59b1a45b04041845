import type { AttemptResult } from './outcome.js';
import type { DeliveryRequest } from './request.js';

/** Makes the HTTP request of one attempt. */
export abstract class Sender {
  /**
   * Never rejects: every failure is a result. A final status counts as soon as its head has arrived, whatever the body does. An
   * aborted signal ends the attempt at once as failed.
   */
  abstract send(request: DeliveryRequest, signal?: AbortSignal): Promise<AttemptResult>;

  /** Waits for the running attempts, each at most until its deadline, then closes all connections. Later sends fail. */
  abstract close(): Promise<void>;
}
