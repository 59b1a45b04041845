// npm run check [-- NAME...]: format, lint with types and unit tests, or those named, as many at once as there are cores.
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { install } from './lib/build.mjs';
import { clientApi } from './lib/client-api.mjs';
import { jestFlags, node24, root } from './lib/paths.mjs';
import { Fault, run, script } from './lib/process.mjs';

const checks = {
  format: ['oxfmt/bin/oxfmt', '--check'],
  // The longer first.
  unit: ['jest/bin/jest.js', '--selectProjects', 'unit', '--silent', '--maxWorkers=2'],
  // Lint and types in one: oxlint's own type checker takes a third of tsc's time.
  lint: ['oxlint/bin/oxlint', '--type-aware', '--type-check', '--deny-warnings'],
};
// A unit spec ends before the code that V8 optimizes repays its cost.
const BRIEF = ['--no-opt'];
const LIMIT_MS = 300_000; // a spec that leaves a connection open holds jest for ever; on a busy machine the units take 100 s

await script(async (signal) => {
  const named = process.argv.slice(2);
  const unknown = named.find((name) => !Object.hasOwn(checks, name));
  if (unknown) throw new Fault(`there is no check ${unknown}, only ${Object.keys(checks).join(', ')}`);
  await install(signal);
  await clientApi(signal);
  const waiting = Object.entries(checks).filter(([name]) => named.length === 0 || named.includes(name));
  const failed = [];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [name, [tool, ...args]] = next;
      const since = Date.now();
      const fault = await run(node24, [...jestFlags, ...BRIEF, join(root, 'node_modules', tool), ...args], {
        cwd: root,
        signal,
        capture: true,
        env: { GOGC: 'off', GOMEMLIMIT: '4GiB', ...process.env }, // oxlint's type checker is in Go: a sixth less time for 3 GB of memory
        timeoutMs: LIMIT_MS,
      }).then(
        () => undefined,
        (error) => error,
      );
      signal.throwIfAborted();
      console.log(`${name.padEnd(6)}  ${fault ? 'FAILED' : 'ok'}  ${((Date.now() - since) / 1000).toFixed(1)} s`);
      if (!fault) continue;
      failed.push(name);
      console.log(fault.output ?? fault.message);
    }
  };
  await Promise.all(Array.from({ length: Math.max(2, availableParallelism()) }, work));
  console.log(failed.length > 0 ? `failed: ${failed.join(', ')}` : 'all checks passed');
  return failed.length > 0 ? 1 : 0;
});
