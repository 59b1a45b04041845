// The image's entry point: the first argument names the role, `relay` the command line.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const app = (name) => join(import.meta.dirname, 'dist', 'apps', name, 'src', 'main.js');
const programs = {
  ingress: app('ingress'),
  worker: app('worker'),
  operations: app('operations'),
  relay: app('cli'),
  'event-types': join(import.meta.dirname, 'event-types.mjs'),
  'smoke-test': join(import.meta.dirname, 'smoke-test.mjs'),
  receiver: join(import.meta.dirname, 'receiver.mjs'),
};

const [role = '', ...args] = process.argv.slice(2);
if (!Object.hasOwn(programs, role)) {
  console.error(`error: the role must be one of ${Object.keys(programs).join(', ')}`);
  process.exit(2);
}
process.argv.splice(1, Infinity, programs[role], ...args);
await import(pathToFileURL(programs[role]).href);
