import type { Audit } from '@relay/audit';
import type { PurgeReport, ReplayReport } from './dead-letter-service.js';

/** A change of dead letters as `relay.operations` has it. */
export interface DeadLetterChange {
  readonly what: 'replay' | 'purge';
  /** The selected dead letters as they were asked for: ids, or `all`, or filters. */
  readonly selection: object;
  readonly by: { readonly operator: string; readonly requestId?: string };
}

/**
 * Reports a change on `relay.operations`, makes it, and reports its outcome.
 * @param unreported called when Kafka does not take the outcome: the change is made and reported as asked by then
 * @throws ProblemError `unavailable` when Kafka does not take the change: nothing was changed
 */
export async function makeReported<Report extends PurgeReport | ReplayReport>(
  audit: Pick<Audit, 'report'>,
  { what, selection, by }: DeadLetterChange,
  make: () => Promise<Report>,
  unreported: (error: unknown) => void,
): Promise<Report> {
  await audit.report({ event: `dead-letters.${what}.asked`, ...by, ...selection });
  const report = await make();
  await audit.report({ event: `dead-letters.${what}.done`, ...by, ...report }).catch((error: Error) =>
    // The cause, since the error itself says that nothing was changed.
    unreported(error.cause),
  );
  return report;
}
