#!/usr/bin/env node
// partner-relay dev: what npm start is in a clone, from the npm package and in the image's stage `dev`. Everything that it needs
// comes with the package or the image but Java and redis-server; RELAY_HOME is the folder of its data.
import { accessSync, constants, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { home } from './lib/paths.mjs';
import { isAlive } from './lib/process.mjs';

const USAGE = `Usage: partner-relay dev        runs the relay with a Kafka and a Redis of its own; Ctrl-C ends it, the data stays
       partner-relay demo       sends envelopes to four webhooks of the running relay, of which one fails and heals
       partner-relay portal     prints a new link to the portal of the running relay; console, to its console
       partner-relay relay ...  runs a command of the running relay, such as relay doctor

The data is in RELAY_HOME, ${home}.`;
const LOOK_MS = 2_000;
const SQLITE_BUSY = 5;

const refuse = (text, code = 1) => {
  console.error(code === 2 ? text : `error: ${text}`);
  process.exit(code);
};
const jsonOf = (name) => (existsSync(join(home, name)) ? JSON.parse(readFileSync(join(home, name), 'utf8')) : {});

/** Refuses a folder of data that this user cannot write to, or of which a file cannot be. */
function checkHome() {
  try {
    mkdirSync(home, { recursive: true });
    for (const name of ['', ...readdirSync(home)]) accessSync(join(home, name), constants.R_OK | constants.W_OK);
  } catch ({ code, message, path = home }) {
    const owner = statSync(path, { throwIfNoEntry: false })?.uid;
    const isOther = code === 'EACCES' && owner !== undefined;
    refuse(`the folder of the data cannot be written to: ${message}${isOther ? `: user ${owner} owns it, and this is user ${process.getuid()}` : ''}
Make it writable${isOther ? ' or run as that user (docker run --user)' : ''}, or set RELAY_HOME to another folder.`);
  }
}

/**
 * Takes the folder for this process, and removes the locks of a run that was killed. The kernel holds the lock of SQLite, among
 * containers with one volume too, and gives it up with the process. The number of a process says nothing among containers: each
 * counts from 1.
 */
async function own() {
  const { DatabaseSync } = await import('node:sqlite');
  try {
    const lock = new DatabaseSync(join(home, 'dev.lock'));
    lock.exec('BEGIN EXCLUSIVE');
    process.once('exit', () => lock.close()); // keeps it from being collected
  } catch ({ errcode, message }) {
    if (errcode !== SQLITE_BUSY) refuse(`${join(home, 'dev.lock')}: ${message}`);
    const { url = 'it is still starting' } = jsonOf('start.json');
    refuse(
      `Partner Relay runs with the data of ${home} already: ${url}\nStop it, or set RELAY_HOME to another folder.`,
    );
  }
  for (const name of ['start.lock', 'up.lock']) rmSync(join(home, name), { force: true });
}

/** Ends with an error once Kafka or Redis has, so that a container is started again. */
function watchStores() {
  let gone = [];
  const looks = setInterval(() => {
    const before = gone;
    gone = Object.entries(jsonOf('stack.json')).filter(([, { pid }]) => pid !== undefined && !isAlive(pid));
    const [ended] = gone.find(([name]) => before.some(([earlier]) => earlier === name)) ?? [];
    if (ended === undefined) return;
    clearInterval(looks);
    console.error(`error: ${ended} ended; see ${join(home, ended, 'output.log')}`);
    process.once('exit', () => (process.exitCode = 1));
    process.kill(process.pid, 'SIGTERM');
  }, LOOK_MS);
}

const [command] = process.argv.slice(2);
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 6)) refuse(`Node 24.6 or newer is needed, and this is ${process.version}`);
if (command === 'relay') {
  process.argv.splice(2, 1, 'cli');
  await import('./role.mjs');
} else if (command === 'demo') await import('./demo.mjs');
else if (command === 'portal' || command === 'console') await import('./start.mjs');
else if (command === 'dev') {
  checkHome();
  await own();
  process.env.RELAY_CONTAINERS = '0';
  process.argv.splice(2, 1);
  watchStores();
  await import('./start.mjs');
} else if (command === '--help' || command === '-h') console.log(USAGE);
else refuse(USAGE, 2);
