// npm run bench: the built relay against a private Kafka and Redis, measured from outside; leaves nothing behind but the result.
import { join } from 'node:path';
import { once } from 'node:events';
import { check } from './bench/check.mjs';
import { readOptions } from './bench/options.mjs';
import { machineOf, settings } from './bench/machine.mjs';
import { spread } from './bench/numbers.mjs';
import { quiet, requireProc, rssOf } from './bench/proc.mjs';
import { profileLines, summarise } from './bench/profile.mjs';
import { markdownOf, textOf } from './bench/report.mjs';
import { lineOf, runOnce, scaled, scenarios, WARM_UP } from './bench/scenarios.mjs';
import { save } from './bench/save.mjs';
import { applyTypes, BUILT_IN_TYPES, register, startStack, withRoles } from './bench/system.mjs';
import { startTool } from './bench/tool.mjs';
import { endLeftRoles } from './bench/trees.mjs';
import { build } from './lib/build.mjs';
import { home, root } from './lib/paths.mjs';
import { script } from './lib/process.mjs';
import { discard, privateHome, sweep } from './lib/private-home.mjs';

const own = privateHome('bench');

async function main(signal) {
  const options = readOptions(process.argv.slice(2));
  requireProc();
  const ends = []; // cleanup, the latest first
  try {
    await build(signal);
    await endLeftRoles();
    await sweep('bench');
    ends.push(() => discard(own));
    const aborted = once(signal, 'abort').then(() => signal.throwIfAborted());
    const task = options.rev === undefined ? bench(options, signal, ends) : check(own, options, signal, ends);
    return await Promise.race([aborted, task]);
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}

async function bench(options, signal, ends) {
  console.log('starting Kafka, Redis, ingress and worker');
  const stack = await startStack(own, signal);
  if (options.types > BUILT_IN_TYPES) await applyTypes(stack, options.types, signal);
  const validation = startTool('validation');
  const checkUs = spread(await validation.ask('measure', { runs: options.runs }));
  await validation.stop();
  const tools = { load: startTool('load'), endpoints: startTool('endpoints') };
  for (const tool of Object.values(tools)) ends.push(() => tool.stop());
  const system = { stack, tools, signal, ends };

  if (options.profile) {
    const summary = await profiled(options.names[0], options.profile, options.scale);
    console.log(`\n${profileLines(summary).join('\n')}`);
    return 0;
  }
  const result = await measured();
  console.log(`\n${textOf(result)}\n`);
  save(options.json ?? join(home, 'bench.json'), result);
  if (options.write) save(join(root, 'docs', 'evidence', 'performance.md'), markdownOf(result));
  return Object.values(result.scenarios).some(({ lost }) => lost > 0) ? 1 : 0;

  function measured() {
    return withRoles(system, async (relay, roles) => {
      await quiet(relay.pids);
      const startMs = { ...roles.startMs, ...stack.startMs };
      const processes = Object.fromEntries(
        Object.keys(startMs).map((name) => [name, { startMs: startMs[name], idleMiB: rssOf(relay.pids[name]) }]),
      );
      await warmedUp(relay, options);
      const measurements = {};
      for (const name of options.names) {
        measurements[name] = summaryOf(await runAll(relay, name, options));
      }
      for (const [name, process] of Object.entries(processes)) process.afterMiB = rssOf(relay.pids[name]);
      return {
        measuredOn: new Date().toISOString().slice(0, 10),
        runs: options.runs,
        scale: options.scale,
        machine: await machineOf(stack),
        settings: { ...settings, 'event types': String(options.types) },
        checkUs,
        scenarios: measurements,
        processes,
      };
    });
  }

  async function profiled(name, app, scale) {
    const file = `${name}-${app}.cpuprofile`;
    const folder = join(home, 'profiles');
    const flags = (of) => (of === app ? ['--cpu-prof', `--cpu-prof-dir=${folder}`, `--cpu-prof-name=${file}`] : []);
    const profile = async (relay) => {
      await warmedUp(relay, { scale });
      return runAll(relay, name, { runs: 1, scale });
    };
    const [{ accepted, window }] = await withRoles(system, profile, flags);
    return summarise(join(folder, file), window, accepted * Math.max(1, scenarios[name].hooks));
  }

  /** New processes run until their code is compiled. */
  async function warmedUp(relay, { scale }) {
    const unregister = await register(stack, await tools.endpoints.ask('listen', { count: 1 }));
    await runOnce(relay, 1, scaled(WARM_UP, scale));
    await unregister();
  }

  /** Registers the scenario's webhooks, warms up, and runs it as often as asked for. */
  async function runAll(relay, name, { runs, scale }) {
    const { hooks, load, warmUp } = scenarios[name];
    const unregister = await register(stack, await tools.endpoints.ask('listen', { count: hooks }));
    await runOnce(relay, hooks, scaled(warmUp, scale));
    const done = [];
    while (done.length < runs) {
      await quiet(relay.pids);
      const run = await runOnce(relay, hooks, scaled(load, scale));
      // A rewrite makes the file shorter, so the bytes of this run mean nothing.
      const isLeftOut = run.isRewritten && run.lost === 0;
      if (!isLeftOut) done.push(run);
      const which = isLeftOut ? 'left out, Redis rewrote its file' : `${done.length}/${runs}`;
      console.log(`${name} ${which}  ${lineOf(name, run)}`);
    }
    await unregister();
    await quiet(relay.pids);
    return done;
  }
}

const summaryOf = (runs) => ({
  figures: spreads(runs.map(({ figures }) => figures)),
  cpu: spreads(runs.map(({ cpu }) => cpu)),
  othersShare: spread(runs.map(({ othersShare }) => othersShare)),
  lost: runs.reduce((sum, { lost }) => sum + lost, 0),
  repeats: runs.reduce((sum, { repeats }) => sum + repeats, 0),
  accepted: runs.map(({ accepted }) => accepted),
  otherAnswers: runs.map(({ otherAnswers }) => otherAnswers),
});

const spreads = (rows) =>
  Object.fromEntries(Object.keys(rows[0]).map((key) => [key, spread(rows.map((row) => row[key]))]));

await script(main);
