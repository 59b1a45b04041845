import { ConfigurationFault } from '@relay/config';
import { Away } from './away.js';
import { fault, type Finding } from './finding.js';

/** The findings of a check, or that it could not be made. @param fix of a failure that names none itself */
export async function orFault(
  check: string,
  fix: string,
  make: () => Finding[] | Promise<Finding[]>,
): Promise<Finding[]> {
  try {
    return await make();
  } catch (error) {
    if (error instanceof Away) return [fault(check, error.fault, error.fix)];
    if (error instanceof ConfigurationFault) return error.faults.map((text) => fault(check, text, fix));
    return [fault(check, error instanceof Error ? error.message : String(error), fix)];
  }
}
