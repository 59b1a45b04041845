import { readFileSync } from 'node:fs';
import { setGlobalProxyFromEnv } from 'node:http';
import { text } from 'node:stream/consumers';
import { runProgram } from './program.js';
import type { Shell } from './shell.js';

// `relay … | head` closes the pipe early, which is no fault; a full disk is one. A command then cleans up, as on Ctrl-C.
let isHeard = true;
let unheardCode: 0 | 1 = 0;
let leave = (): void => process.exit(unheardCode);
process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  if (isHeard && code !== 'EPIPE') {
    unheardCode = 1;
    process.stderr.write(`error: standard output failed, so the answer is lost: ${message}\n`);
  }
  isHeard = false;
  leave();
});

// C0 and C1 without tab and line feed, and what changes the direction of the text behind it (UAX 9).
const HIDDEN = new RegExp(
  String.raw`[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]`,
  'g',
);
/** Texts from outside, such as an endpoint's answer, change nothing of the terminal. The escapes are those of JSON. */
const escaped = (line: string): string =>
  line.replaceAll(HIDDEN, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

const shell: Shell = {
  env: process.env,
  readFile: (path) => readFileSync(path, 'utf8'),
  readInput: () => text(process.stdin),
  print: (line) => void (isHeard && process.stdout.write(`${escaped(line)}\n`)),
  note: (line) => void process.stderr.write(`${escaped(line)}\n`),
  isTerminal: process.stderr.isTTY,
  interrupted: () =>
    new Promise((resolve) => {
      leave = resolve;
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
    }),
  exitCode: 0,
};

// HTTP_PROXY, HTTPS_PROXY and NO_PROXY as for curl; this machine itself is called directly.
const direct = ['localhost,127.0.0.1,[::1]', process.env['no_proxy'] ?? process.env['NO_PROXY']].join(',');
try {
  setGlobalProxyFromEnv({ ...process.env, NO_PROXY: direct, no_proxy: direct });
} catch {
  shell.note('warning: HTTP_PROXY or HTTPS_PROXY is not the URL of a proxy, so none is used');
}

const code = await runProgram(process.argv.slice(2), shell);
// Every command closes its connections; a driver that still waits for a broker must not keep the process alive.
// The error of an earlier write comes a turn later.
if (isHeard) process.stdout.write('', () => setImmediate(() => process.exit(code)));
else process.exit(code || unheardCode);
