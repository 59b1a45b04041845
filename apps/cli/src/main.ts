import { readFileSync } from 'node:fs';
import { runProgram } from './program.js';
import type { Shell } from './shell.js';

const shell: Shell = {
  env: process.env,
  readFile: (path) => readFileSync(path, 'utf8'),
  print: (text) => void process.stdout.write(`${text}\n`),
  note: (text) => void process.stderr.write(`${text}\n`),
  isTerminal: process.stderr.isTTY,
  interrupted: () =>
    new Promise((resolve) => {
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
    }),
  exitCode: 0,
};

// `relay … | head` closes the pipe early: there is nobody left to tell.
process.stdout.on('error', () => process.exit(0));

const code = await runProgram(process.argv.slice(2), shell);
// Every command closes what it opened; a driver still waiting for a broker that is away must not hold the process.
process.stdout.write('', () => process.exit(code));
