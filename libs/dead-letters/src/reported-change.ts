import type { Audit } from '@relay/audit';
import type { PurgeReport, ReplayReport } from './dead-letter-service.js';

/** A change of dead letters as it is told. */
export interface LetterChange {
  readonly what: 'replay' | 'purge';
  /** The letters that are meant, as they were asked for: ids, or `all`, or filters. */
  readonly selection: object;
  readonly by: { readonly operator: string; readonly requestId?: string };
}

/**
 * Tells on `relay.operations` what is asked, makes it, and tells what came of it.
 * @param untold called when Kafka does not take the latter: it is done by then, and that it was asked is told
 * @throws ProblemError `unavailable` when Kafka does not take the former: nothing was changed
 */
export async function makeTold<Report extends PurgeReport | ReplayReport>(
  audit: Pick<Audit, 'tell'>,
  { what, selection, by }: LetterChange,
  make: () => Promise<Report>,
  untold: (error: unknown) => void,
): Promise<Report> {
  await audit.tell({ event: `dead-letters.${what}.asked`, ...by, ...selection });
  const report = await make();
  await audit.tell({ event: `dead-letters.${what}.done`, ...by, ...report }).catch((error: Error) =>
    // Not what it says itself: that nothing was changed.
    untold(error.cause),
  );
  return report;
}
