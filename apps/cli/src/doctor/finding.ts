import { table } from '../table.js';

/** What a check found; a warning or a fault comes with its fix. */
export interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'fault';
  readonly text: string;
  readonly fix?: string;
}

export const ok = (check: string, text: string): Finding => ({ check, state: 'ok', text });
export const warning = (check: string, text: string, fix: string): Finding => ({ check, state: 'warning', text, fix });
export const fault = (check: string, text: string, fix: string): Finding => ({ check, state: 'fault', text, fix });

const faultsOf = (findings: readonly Finding[]): number => findings.filter(({ state }) => state === 'fault').length;

export const isHealthy = (findings: readonly Finding[]): boolean => faultsOf(findings) === 0;

/** The findings for a person, each fix under its fault. */
export function findingsText(findings: readonly Finding[]): string {
  const rows = findings.flatMap(({ state, check, text, fix }) => {
    const row = [state, check, text];
    return fix === undefined ? [row] : [row, ['', '', `fix: ${fix}`]];
  });
  const faults = faultsOf(findings);
  return `${table(rows)}\n${faults === 0 ? 'no fault found' : faults === 1 ? '1 fault found' : `${faults} faults found`}`;
}
