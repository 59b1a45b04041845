// A built app as a child process whose lines carry its name.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { appMain, node24 } from './paths.mjs';
import { end, isAlive } from './process.mjs';

/** A role ends within this time. */
export const DRAIN_MS = 25_000;

/** `ended` resolves with the exit code or signal. @param program Node and main file, unless they are those of this tree */
export function startRole(app, env, print, nodeFlags = [], program = { node: node24, main: appMain(app) }) {
  // A process group of its own: Ctrl-C in the terminal must end the roles in order, not all at once.
  const stdio = ['ignore', 'pipe', 'pipe'];
  const child = spawn(program.node, [...nodeFlags, program.main], { env, detached: true, stdio });
  for (const stream of [child.stdout, child.stderr]) createInterface(stream).on('line', (line) => print(app, line));
  const ended = new Promise((done) => {
    child.on('error', (error) => done(error.message));
    child.on('close', (code, signal) => done(signal ?? `exit code ${code}`));
  });
  const stop = async () => {
    if (child.pid && isAlive(child.pid)) await end(child.pid, DRAIN_MS);
    await ended;
  };
  return { app, pid: child.pid, ended, stop };
}
