// A background process that outlives the command which started it, with its output in a file.
import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

export const lastLines = (text) => text.trim().split('\n').slice(-15).join('\n');

export function spawnService(command, args, folder, env = process.env) {
  const file = join(folder, 'output.log');
  const before = existsSync(file) ? statSync(file).size : 0;
  const log = openSync(file, 'a');
  // Its own session: the terminal's Ctrl-C must not reach it before its clients have ended.
  const child = spawn(command, args, { cwd: folder, env, detached: true, stdio: ['ignore', log, log] });
  closeSync(log);
  child.unref();
  let ended = false;
  child.on('exit', () => (ended = true));
  child.on('error', () => (ended = true));
  const output = () => readFileSync(file).subarray(before).toString('utf8');
  return { pid: child.pid, hasEnded: () => ended, output };
}
