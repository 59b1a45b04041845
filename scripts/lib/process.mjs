// Running, finding and ending processes.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

export class Fault extends Error {}

/** Runs a command to its end and returns its standard output ('' when inherited). Rejects with a Fault that names the command. */
export function run(command, args, { capture = false, timeoutMs, signal, ...options } = {}) {
  return new Promise((done, fail) => {
    const to = capture ? 'pipe' : 'inherit';
    const child = spawn(command, args, { stdio: ['ignore', to, to], signal, timeout: timeoutMs, ...options });
    const text = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr']) child[stream]?.on('data', (chunk) => (text[stream] += chunk));
    child.on('error', fail);
    child.on('close', (code, by) => {
      if (code === 0) return done(text.stdout);
      const line = [command, ...args].join(' ').slice(0, 300);
      const output = `${text.stdout}${text.stderr}`.trim();
      fail(Object.assign(new Fault(`${line}: ${by ?? `exit code ${code}`}\n${output}`.trim()), { output }));
    });
  });
}

/** Whether a command exists and succeeds. Never throws, never waits longer than the time given. */
export const succeeds = (command, args, timeoutMs = 2000) =>
  // No pipes: a grandchild that outlives the timeout holds them open.
  run(command, args, { stdio: 'ignore', timeoutMs, killSignal: 'SIGKILL' }).then(
    () => true,
    () => false,
  );

export function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return !isZombie(pid);
  } catch (error) {
    return error.code === 'EPERM';
  }
}

// A process whose parent never reads its exit code stays listed: it has ended all the same.
function isZombie(pid) {
  const stat = `/proc/${pid}/stat`;
  return existsSync(stat) && readFileSync(stat, 'utf8').split(') ')[1]?.startsWith('Z') === true;
}

/** The command line of a running process: a process id alone may have been given to another program meanwhile. */
export async function commandLine(pid) {
  if (existsSync('/proc/self/cmdline')) {
    return existsSync(`/proc/${pid}/cmdline`) ? readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ') : '';
  }
  return run('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { capture: true }).catch(() => '');
}

/** Asks a process, or with a negative id its whole group, to end; kills it when it has not within the time given. */
export async function end(pid, withinMs) {
  for (const [name, waitMs] of [
    ['SIGTERM', withinMs],
    ['SIGKILL', 5000],
  ]) {
    try {
      process.kill(pid, name);
    } catch {
      return;
    }
    if (await until(() => !isAlive(pid), waitMs)) return;
  }
}

/** Polls a condition until it holds; false when the time is over. */
export async function until(condition, withinMs, signal) {
  for (const deadline = Date.now() + withinMs; ;) {
    if (await condition()) return true;
    if (Date.now() > deadline) return false;
    await delay(40, undefined, { signal });
  }
}

/**
 * Runs a script's main function with a signal that SIGINT, SIGTERM or SIGHUP aborts, so that its `finally` blocks run,
 * and sets the exit code. npm forwards Ctrl-C although the terminal has sent it already: repeats change nothing.
 */
export async function script(main, { interrupted = 130 } = {}) {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => stop.abort());
  // The `finally` blocks run after the terminal is closed too, when each write fails.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  try {
    process.exitCode = (await main(stop.signal)) ?? 0;
  } catch (error) {
    process.exitCode = stop.signal.aborted ? interrupted : 1;
    if (!stop.signal.aborted) console.error(error instanceof Fault ? `error: ${error.message}` : error);
  }
  process.exit();
}
