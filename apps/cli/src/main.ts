import { readFileSync } from 'node:fs';
import { setGlobalProxyFromEnv } from 'node:http';
import { text } from 'node:stream/consumers';
import { runProgram } from './program.js';
import type { Shell } from './shell.js';

// `relay … | head` closes the pipe early, which is no error. A full disk is an error. In both cases a running command cleans
// up as it does after Ctrl-C.
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

// Control characters (C0 and C1) except tab and line feed, line separators, and characters that change the direction of text
// (UAX 9).
const HIDDEN = new RegExp(
  String.raw`[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]`,
  'g',
);
/**
 * Escapes, as in JSON, the characters that could change the terminal. A line may contain text from outside, such as the
 * answer of an endpoint.
 */
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

// HTTP_PROXY, HTTPS_PROXY and NO_PROXY work as for curl, but requests to this machine itself never use a proxy.
const direct = ['localhost,127.0.0.1,[::1]', process.env['no_proxy'] ?? process.env['NO_PROXY']].join(',');
try {
  setGlobalProxyFromEnv({ ...process.env, NO_PROXY: direct, no_proxy: direct });
} catch {
  shell.note('warning: HTTP_PROXY or HTTPS_PROXY is not the URL of a proxy, so none is used');
}

const code = await runProgram(process.argv.slice(2), shell);
// Exit explicitly, because a driver that still waits for a broker would otherwise keep the process alive. If an earlier
// write failed, its error arrives one turn of the event loop later, so wait for that turn.
if (isHeard) process.stdout.write('', () => setImmediate(() => process.exit(code)));
else process.exit(code || unheardCode);
