// One npm start for one home: a file with its process and its address, which a process that has ended leaves to the next.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withLock } from './lock.mjs';
import { commandLine, end, Fault } from './process.mjs';
import { DRAIN_MS } from './role.mjs';

const RUNS = /start\.mjs|(?:dev\.mjs|partner-relay) dev/;
const fileOf = (home) => join(home, 'start.json');

/** Returns the process that uses the home, and its address if it has one already; undefined if no process uses the home. */
export async function ownerOf(home) {
  const file = fileOf(home);
  const found = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  // In a container each run has the number of the one before.
  const isAnother = found.pid !== undefined && found.pid !== process.pid;
  return isAnother && RUNS.test(await commandLine(found.pid)) ? found : undefined;
}

/** Takes the home. @throws Fault with the address of the one that has it */
export async function own(home, signal) {
  mkdirSync(home, { recursive: true });
  const file = fileOf(home);
  const write = (more) => writeFileSync(file, JSON.stringify({ pid: process.pid, ...more }));
  await withLock(join(home, 'start.lock'), signal, async () => {
    const { pid, url = 'it is still starting' } = (await ownerOf(home)) ?? {};
    if (pid !== undefined)
      throw new Fault(
        `npm start runs here already, as process ${pid}: ${url}\nStop it with Ctrl-C, or set RELAY_HOME to start another beside it.`,
      );
    // The roles of a start that was killed run on, and have its ports.
    const { roles = [] } = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
    for (const role of roles) if ((await commandLine(role)).includes(join('dist', 'apps'))) await end(role, DRAIN_MS);
    write();
  });
  return { tell: (url, roles) => write({ url, roles }), leave: () => rmSync(file, { force: true }) };
}
