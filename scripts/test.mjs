// npm test: every test against a private Kafka and Redis that leave nothing behind. Arguments go to jest.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism, constants } from 'node:os';
import { join, relative } from 'node:path';
import { build } from './lib/build.mjs';
import { devEnvFile } from './lib/dev-env.mjs';
import { node24, root } from './lib/paths.mjs';
import { discard, privateHome, sweep } from './lib/private-home.mjs';
import { end, script } from './lib/process.mjs';
import { up } from './lib/stack.mjs';

const home = privateHome('test');
const report = join(home, 'jest.json');
let counts = { passed: 0, failed: 1 }; // what kept the tests from running is the failure

await script(async (signal) => {
  try {
    await build(signal);
    await sweep('test');
    const env = { ...process.env, KAFKA_PORT: '0', KAFKA_CONTROLLER_PORT: '0', REDIS_PORT: '0' };
    const { values } = await up(home, { env, signal });
    const { KAFKA_BROKERS, REDIS_URL } = values;
    const testEnv = {
      ...process.env,
      KAFKA_BROKERS,
      REDIS_URL,
      RELAY_HOME: home,
      RELAY_TEST_ENV_FILE: devEnvFile(home),
    };
    const given = process.argv.slice(2);
    // Most suites wait most of the time; jest's own choice on two cores is one worker.
    let code = await jest([`--maxWorkers=${availableParallelism() + 1}`, ...given], testEnv, signal);
    if (existsSync(report)) counts = read(report);
    const late = code === 0 || signal.aborted ? [] : repeatable(report);
    if (late.length > 0) {
      console.log(`once more, with nothing beside them: ${late.map((file) => relative(root, file)).join(', ')}`);
      const before = counts;
      code = await jest(['--maxWorkers=1', '--runTestsByPath', ...late], testEnv, signal);
      const again = read(report);
      counts = { passed: before.passed + before.failed - again.failed, failed: again.failed };
    }
    return code || (counts.passed + counts.failed === 0 ? 1 : 0);
  } finally {
    await discard(home);
    if (!signal.aborted) process.on('exit', () => console.log(`${counts.passed} passed, ${counts.failed} failed`));
  }
});

// In a process group of its own: what a spec started and did not end, ends with it.
async function jest(given, env, signal) {
  const flags = ['--disable-warning=ExperimentalWarning', '--experimental-vm-modules'];
  const args = [join(root, 'node_modules', 'jest', 'bin', 'jest.js'), '--json', `--outputFile=${report}`, ...given];
  const child = spawn(node24, [...flags, ...args], {
    cwd: root,
    env,
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const ended = new Promise((done, fail) => {
    child.on('error', fail);
    child.on('exit', (code, by) => done(code ?? 128 + constants.signals[by]));
  });
  const interrupt = () => end(-child.pid, 5000);
  signal.addEventListener('abort', interrupt);
  try {
    return await ended;
  } finally {
    await end(-child.pid, 5000);
  }
}

/**
 * End-to-end specs that failed, if nothing else did and they are few: three of them share two cores with brokers and
 * processes of their own, so one may have missed a time that it keeps alone. What counts losses is never asked twice.
 */
function repeatable(file) {
  if (!existsSync(file)) return [];
  const { testResults, numRuntimeErrorTestSuites } = JSON.parse(readFileSync(file, 'utf8'));
  const failed = testResults.filter(({ status }) => status === 'failed');
  const isLoss = ({ assertionResults }) =>
    assertionResults.some(({ failureMessages }) => /\blost\b/.test((failureMessages ?? []).join()));
  const mayRepeat = failed.every((suite) => suite.name.endsWith('.e2e-spec.ts') && !isLoss(suite));
  return numRuntimeErrorTestSuites === 0 && failed.length <= 2 && mayRepeat ? failed.map(({ name }) => name) : [];
}

// A suite that does not even load has no failed test to count: it counts as one.
function read(file) {
  const result = JSON.parse(readFileSync(file, 'utf8'));
  return { passed: result.numPassedTests, failed: result.numFailedTests + result.numRuntimeErrorTestSuites };
}
