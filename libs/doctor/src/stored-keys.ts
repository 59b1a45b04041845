import { fault, ok, type Finding } from './finding.js';

/** A stored record that needs keys. */
export interface KeyedRecord {
  readonly name: string;
  /** Whether one of the present keys opens it. */
  readonly opens: boolean;
}

/** Whether the present keys open every stored record. */
export function storedFinding(check: string, records: readonly KeyedRecord[]): Finding {
  const closed = records.filter(({ opens }) => !opens);
  const [first] = closed;
  if (first === undefined) return ok(check, `${records.length} of ${records.length} can be read`);
  return fault(
    check,
    `${closed.length} of ${records.length} cannot be read, such as ${first.name}`,
    'put the key that sealed them back into ENCRYPTION_KEYS, behind the first; if it is lost, docs/security.md says how to replace them',
  );
}
