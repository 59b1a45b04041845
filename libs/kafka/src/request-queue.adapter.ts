import { kafkajsModule } from './kafkajs-module.adapter.js';

/** The members of kafkajs' request queue of one broker that schedule its look for waiting requests. */
export interface RequestQueue {
  readonly pending: readonly unknown[];
  /** The broker asked for no request before this time; Unix time in milliseconds, -1 for never. */
  readonly throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests(): void;
}

/** Interval of the look at requests above the in-flight limit, beside the one at each answer. */
const CHECK_MS = 10;

// kafkajs 2.2.4 sets a timer again and again whether or not a request waits, of a negative time, which is 1 ms: each
// connection wakes its process a thousand times a second for nothing (tulios/kafkajs#1704, #1556, #1751, unmerged fixes).
const RequestQueueClass = kafkajsModule('network/requestQueue')?.exports as { prototype: object } | undefined;
if (RequestQueueClass !== undefined) {
  Object.assign(RequestQueueClass.prototype, {
    scheduleCheckPendingRequests(this: RequestQueue): void {
      if (this.pending.length === 0 || this.throttleCheckTimeoutId !== null) return;
      const check = (): void => {
        this.throttleCheckTimeoutId = null;
        this.checkPendingRequests();
      };
      this.throttleCheckTimeoutId = setTimeout(check, Math.max(this.throttledUntil - Date.now(), CHECK_MS));
    },
  });
}
