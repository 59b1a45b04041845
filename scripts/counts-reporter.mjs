// Leaves jest's own counts for the last line of `npm test`. Jest's `--json` writes every error as well, and nothing at all
// where one of them cannot be written, such as that of `execFileSync`, which is its own cause.
import { writeFileSync } from 'node:fs';

export default class CountsReporter {
  onRunComplete(_contexts, { numPassedTests, numFailedTests, numRuntimeErrorTestSuites, testResults }) {
    const failedFiles = testResults
      .filter(({ numFailingTests, testExecError }) => numFailingTests > 0 || testExecError)
      .map(({ testFilePath, displayName, numPassingTests, numFailingTests, testExecError }) => ({
        path: testFilePath,
        project: displayName?.name,
        passed: numPassingTests,
        // As in the sum below: what breaks off a whole suite counts beside its failed tests.
        failed: numFailingTests + (testExecError ? 1 : 0),
      }));
    // A suite that does not even load has no failed test to count: it counts as one.
    const counts = { passed: numPassedTests, failed: numFailedTests + numRuntimeErrorTestSuites, failedFiles };
    writeFileSync(process.env.RELAY_TEST_COUNTS, JSON.stringify(counts));
  }
}
