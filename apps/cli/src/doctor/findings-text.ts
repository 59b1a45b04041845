import { type Finding, summaryOf } from '@relay/doctor';
import { counted, table } from '../table.js';

/** The findings for a person, each fix under its fault, and how many there are. */
export function findingsText(findings: readonly Finding[]): string {
  const rows = findings.flatMap(({ state, check, text, fix }) => {
    const row = [state, check, text];
    return fix === undefined ? [row] : [row, ['', '', `fix: ${fix}`]];
  });
  const { faults, warnings } = summaryOf(findings);
  const found = `${faults === 0 ? 'no fault' : counted(faults, 'fault')} found`;
  return `${table(rows)}\n${found}${warnings === 0 ? '' : `, ${counted(warnings, 'warning')}`}`;
}
