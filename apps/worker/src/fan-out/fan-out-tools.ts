import type { RejectedRecords } from '@relay/dead-letters';
import type { ThrottledLog } from '@relay/telemetry';
import type { DeliveryMetrics } from '../delivery/delivery-metrics.js';
import type { ParkingRule } from '../parking/parking-rule.js';
import type { ReadingPause } from '../log/reading-pause.js';

/** What the fan-out needs beside the stores and the courier. */
export class FanOutTools {
  constructor(
    readonly topicPrefix: string,
    readonly rejectedRecords: RejectedRecords,
    readonly metrics: DeliveryMetrics,
    readonly log: ThrottledLog,
    readonly pause: ReadingPause,
    readonly parking: Pick<ParkingRule, 'isDue'>,
  ) {}
}
