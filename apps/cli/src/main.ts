import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { runProgram } from './program.js';
import type { Shell } from './shell.js';

// `relay … | head` closes the pipe early. A command then cleans up, as on Ctrl-C.
let isHeard = true;
let leave = (): void => process.exit(0);
process.stdout.on('error', () => {
  isHeard = false;
  leave();
});

const shell: Shell = {
  env: process.env,
  readFile: (path) => readFileSync(path, 'utf8'),
  readInput: () => text(process.stdin),
  print: (line) => void (isHeard && process.stdout.write(`${line}\n`)),
  note: (line) => void process.stderr.write(`${line}\n`),
  isTerminal: process.stderr.isTTY,
  interrupted: () =>
    new Promise((resolve) => {
      leave = resolve;
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
    }),
  exitCode: 0,
};

const code = await runProgram(process.argv.slice(2), shell);
// Every command closes its connections; a driver that still waits for a broker must not keep the process alive.
if (isHeard) process.stdout.write('', () => process.exit(code));
else process.exit(code);
