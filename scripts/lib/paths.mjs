// The paths of the repository, a stack's home, the shared cache, and the Node that runs our code.
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));
/** Whether these are the scripts of the repository. The npm package and the image's stage `dev` have some of them and the built code. */
export const isClone = existsSync(join(root, 'nest-cli.json'));
export const home = resolve(
  process.env.RELAY_HOME || (isClone ? join(root, '.relay') : join(homedir(), '.partner-relay')),
);
export const cache = resolve(
  process.env.RELAY_CACHE || (isClone ? join(homedir(), '.cache', 'partner-relay') : join(root, 'cache')),
);

/** The Node 24 that the npm package `node` brings: any Node can start these scripts, this one runs everything else. */
export const node24 = isClone ? join(root, 'node_modules', 'node', 'bin', 'node') : process.execPath;

const TYPED = { start: 'npm start', dev: 'npm start --', demo: 'npm run demo', portal: 'npm start -- portal' };
/** Returns the line that a user types for a command. RELAY_COMMAND names the command line of the npm package. */
export const typed = (name) =>
  isClone ? TYPED[name] : `${process.env.RELAY_COMMAND || 'npx partner-relay'} ${name === 'start' ? 'dev' : name}`;

/** The flags of Node that runs jest: ES modules, one code cache for all spec files of a process, fewer collections. */
export const jestFlags = [
  '--disable-warning=ExperimentalWarning',
  '--experimental-vm-modules',
  '--max-semi-space-size=64',
  `--require=${join(root, 'scripts', 'lib', 'compile-cache.cjs')}`,
];

export const appMain = (app) => join(root, 'dist', 'apps', app, 'src', 'main.js');
