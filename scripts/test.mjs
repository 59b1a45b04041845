// npm test: every test against a private Kafka and Redis that leave nothing behind. Arguments go to jest. Specs that need
// a cluster and the machine for themselves run only by `npm run test:cluster`.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, constants } from 'node:os';
import { join, relative } from 'node:path';
import { againAlone, withRepeated } from './lib/again-alone.mjs';
import { build } from './lib/build.mjs';
import { devEnvFile } from './lib/dev-env.mjs';
import { jestFlags, node24, root } from './lib/paths.mjs';
import { discard, privateHome, sweep } from './lib/private-home.mjs';
import { end, script } from './lib/process.mjs';
import { up } from './lib/stack.mjs';

const home = privateHome('test');
const report = join(home, 'counts.json');
let counts = { passed: 0, failed: 1 }; // a failure to start counts as one

await script(async (signal) => {
  try {
    await build(signal);
    await sweep('test');
    // Always stores of its own, because specs empty the Redis that they use, and always local processes, which specs can kill.
    const { KAFKA_BROKERS: _, REDIS_URL: __, ...outer } = process.env;
    const env = { ...outer, RELAY_CONTAINERS: '0' };
    const ports = { KAFKA_PORT: '0', KAFKA_CONTROLLER_PORT: '0', REDIS_PORT: '0' };
    const { values } = await up(home, { env: { ...env, ...ports }, signal });
    const { KAFKA_BROKERS, REDIS_URL } = values;
    const jestEnv = {
      ...env,
      KAFKA_BROKERS,
      REDIS_URL,
      RELAY_HOME: home,
      RELAY_TEST_COUNTS: report,
      RELAY_TEST_ENV_FILE: devEnvFile(home),
      // The roles are started more than a hundred times: compiled once, each start takes a sixth less.
      NODE_COMPILE_CACHE: join(home, 'compiled'),
    };
    const code = await jest(jestEnv, process.argv.slice(2), signal);
    if (!existsSync(report)) return code || 1;
    counts = JSON.parse(readFileSync(report, 'utf8'));
    const repeated = process.env.CI === undefined || signal.aborted ? [] : againAlone(counts);
    if (repeated.length > 0) return await repeat(repeated, jestEnv, signal);
    return code || (counts.passed + counts.failed === 0 ? 1 : 0);
  } finally {
    await discard(home);
    if (!signal.aborted) process.on('exit', () => console.log(`${counts.passed} passed, ${counts.failed} failed`));
  }
});

/** Runs the files again, alone, and says how they ended both times. */
async function repeat(files, env, signal) {
  const names = files.map(({ path, failed }) => `${relative(root, path)} (${failed} failed)`).join(', ');
  console.log(`\nFAILED BESIDE OTHERS, and now run again alone: ${names}`);
  rmSync(report);
  const projects = [...new Set(files.map(({ project }) => project))];
  const paths = files.map(({ path }) => path);
  const args = ['--selectProjects', ...projects, '--maxWorkers=1', '--runTestsByPath', ...paths];
  const code = await jest(env, args, signal);
  if (!existsSync(report)) return code || 1;
  const alone = JSON.parse(readFileSync(report, 'utf8'));
  console.log(`FAILED BESIDE OTHERS: ${names}; alone: ${alone.passed} passed, ${alone.failed} failed`);
  counts = withRepeated(counts, files, alone);
  return code;
}

// A process group of its own, so that left-over processes of a spec end with it.
async function jest(env, given, signal) {
  const isChosen = given.some((argument) => /^--(?:select|ignore)Projects\b/.test(argument));
  const args = [
    join(root, 'node_modules', 'jest', 'bin', 'jest.js'),
    ...(isChosen ? [] : ['--ignoreProjects=cluster']), // takes all words up to the next option
    '--reporters=default',
    `--reporters=${join(root, 'scripts', 'counts-reporter.mjs')}`,
    // Most suites wait most of the time; jest's own choice on two cores is one worker. On two, two more than cores took
    // 495 s, one more 632 s.
    `--maxWorkers=${availableParallelism() + 2}`,
    ...given,
  ];
  const child = spawn(node24, [...jestFlags, ...args], {
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
