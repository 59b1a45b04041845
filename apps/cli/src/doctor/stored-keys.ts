import { fault, ok, type Finding } from './finding.js';

/** A record that keys are needed for. */
export interface KeyedRecord {
  readonly name: string;
  /** Whether one of the keys there are is its own. */
  readonly opens: boolean;
}

/** Whether everything stored under ENCRYPTION_KEYS can still be used. */
export function storedFinding(check: string, records: readonly KeyedRecord[]): Finding {
  const closed = records.filter(({ opens }) => !opens);
  const [first] = closed;
  if (first === undefined) return ok(check, `${records.length} of ${records.length} can be read`);
  return fault(
    check,
    `${closed.length} of ${records.length} cannot be read, such as ${first.name}`,
    'put the key they were written with back into ENCRYPTION_KEYS, behind the first; if it is lost, docs/security.md says what makes them anew',
  );
}
