// The repetition of failed files by `npm test` in CI: several suites share two cores there with brokers and stores, so a bound of
// time may break that holds on a quiet machine. A fault of the code fails again.

/** Projects whose specs wait for other processes. A unit or a model that fails has a fault. */
const WAITING = new Set(['e2e', 'live', 'abuse']);
/** More files than these fail for a reason of their own. */
const MOST = 6;

/**
 * The files to run again, alone.
 * @param counts what `counts-reporter.mjs` wrote
 * @returns none, if a repetition would not change what the run says
 */
export function againAlone({ failedFiles }) {
  const isWorthIt = failedFiles.length <= MOST && failedFiles.every(({ project }) => WAITING.has(project));
  return isWorthIt ? failedFiles : [];
}

/** The counts of a run in which the repeated files count as they ended alone. */
export function withRepeated(first, repeated, alone) {
  const sum = (name) => repeated.reduce((total, file) => total + file[name], 0);
  return {
    passed: first.passed - sum('passed') + alone.passed,
    failed: first.failed - sum('failed') + alone.failed,
    failedFiles: alone.failedFiles,
  };
}
