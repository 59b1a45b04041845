import { reasonOf, type ThrottledLog } from '@relay/telemetry';

/** For changes that are made before they are reported: logs that Kafka did not take the report. */
export const untold =
  (log: Pick<ThrottledLog, 'warn'>, requestId: string) =>
  (error: unknown): void =>
    log.warn(
      'operations.untold',
      'Kafka did not take the result of an operator’s change: relay.operations has no record of it',
      { requestId, reason: reasonOf(error) },
    );
