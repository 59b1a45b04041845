// The chart's Job for event types runs `relay event-types apply` with the arguments of this program, as the operator `helm`, which it
// makes, or enables with a new secret, and disables again. OPERATIONS_URL is the address of the operations app.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const url = process.env.OPERATIONS_URL.replace(/\/$/, '');
const role = join(import.meta.dirname, 'role.mjs');
const ending = new AbortController();
process.once('SIGTERM', () => ending.abort());

async function admin(...args) {
  const { stdout } = await promisify(execFile)(process.execPath, [
    role,
    'relay',
    'admin',
    'clients',
    ...args,
    '--json',
  ]);
  return JSON.parse(stdout);
}

/** Repeats a request until its answer will do. Without `--wait`, helm starts the Job before the operations app listens. */
async function answered(path, headers, isExpected, patienceMs) {
  for (const deadline = Date.now() + patienceMs; ;) {
    const signal = AbortSignal.any([ending.signal, AbortSignal.timeout(10_000)]);
    const said = await fetch(url + path, { headers, signal }).then(
      ({ status }) => (isExpected(status) ? undefined : `answered ${status}`),
      ({ message, cause }) => `cannot be reached (${cause?.message || cause?.code || message})`,
    );
    if (said === undefined) return;
    ending.signal.throwIfAborted();
    if (Date.now() > deadline) throw new Error(`${url}${path} ${said}`);
    await delay(1_000, undefined, { signal: ending.signal });
  }
}

let operator;
try {
  await answered('/openapi.json', {}, (status) => status < 500, 150_000);
  operator = await admin('create', 'operator', 'helm', '--role', 'admin', '--reuse');
  const basic = Buffer.from(`${operator.clientId}:${operator.clientSecret}`).toString('base64');
  await answered('/event-types', { authorization: `Basic ${basic}` }, (status) => status === 200, 30_000);
  const { clientId: OPERATOR_CLIENT_ID, clientSecret: OPERATOR_CLIENT_SECRET } = operator;
  const child = spawn(process.execPath, [role, 'relay', 'event-types', 'apply', ...process.argv.slice(2)], {
    env: { ...process.env, OPERATOR_CLIENT_ID, OPERATOR_CLIENT_SECRET },
    stdio: 'inherit',
    signal: ending.signal,
  });
  // A child that a signal ended has no code.
  process.exitCode = (await once(child, 'exit'))[0] ?? 1;
} catch (error) {
  console.error(`error: ${error.message}`);
  process.exitCode = 1;
} finally {
  if (operator)
    await admin('disable', operator.clientId).catch((error) => {
      console.error(`left behind: ${error.message}`);
      process.exitCode = 1;
    });
}
