import { ConfigurationFault } from '@relay/config';

/** The result of a check. A warning or a fault also says how to fix it. */
export interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'fault';
  readonly text: string;
  readonly fix?: string;
}

export const ok = (check: string, text: string): Finding => ({ check, state: 'ok', text });
export const warning = (check: string, text: string, fix: string): Finding => ({ check, state: 'warning', text, fix });
export const fault = (check: string, text: string, fix: string): Finding => ({ check, state: 'fault', text, fix });

/** Returns a fault, or only a warning in development. @param environment RELAY_ENV */
export const faultInProduction = (environment: string, check: string, text: string, fix: string): Finding =>
  (environment === 'development' ? warning : fault)(check, text, fix);

/** Counts the warnings and faults. Without faults the relay is healthy, even if there are warnings. */
export function summaryOf(findings: readonly Finding[]) {
  const count = (wanted: Finding['state']): number => findings.filter(({ state }) => state === wanted).length;
  const faults = count('fault');
  return { healthy: faults === 0, faults, warnings: count('warning'), findings };
}

/** Thrown if a store is not configured or does not answer. It says what is wrong (`what`) and how to fix it. */
export class Away extends Error {
  override readonly name = 'Away';

  constructor(
    readonly what: string,
    readonly fix: string,
    cause?: unknown,
  ) {
    super(`${what}: ${fix}`, { cause });
  }
}

/**
 * Returns the findings of a check, or a fault if the check cannot run.
 * @param fix for errors that do not name their own fix
 */
export async function orFault(
  check: string,
  fix: string,
  make: () => Finding[] | Promise<Finding[]>,
): Promise<Finding[]> {
  try {
    return await make();
  } catch (error) {
    if (error instanceof Away) return [fault(check, error.what, error.fix)];
    if (error instanceof ConfigurationFault) return error.faults.map((text) => fault(check, text, fix));
    return [fault(check, error instanceof Error ? error.message : String(error), fix)];
  }
}
