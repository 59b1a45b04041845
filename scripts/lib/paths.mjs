// The paths of the repository, a stack's home, the shared cache, and the Node that runs our code.
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));
export const home = resolve(process.env.RELAY_HOME ?? join(root, '.relay'));
export const cache = resolve(process.env.RELAY_CACHE ?? join(homedir(), '.cache', 'partner-relay'));

/** The Node 24 that the npm package `node` brings: any Node can start these scripts, this one runs everything else. */
export const node24 = join(root, 'node_modules', 'node', 'bin', 'node');

/** The flags of Node that runs jest: ES modules, one code cache for all spec files of a process, fewer collections. */
export const jestFlags = [
  '--disable-warning=ExperimentalWarning',
  '--experimental-vm-modules',
  '--max-semi-space-size=64',
  `--require=${join(root, 'scripts', 'lib', 'compile-cache.cjs')}`,
];

export const appMain = (app) => join(root, 'dist', 'apps', app, 'src', 'main.js');
