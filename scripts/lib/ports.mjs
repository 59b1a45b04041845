// Ports on 127.0.0.1.
import { createServer } from 'node:net';
import { Fault } from './process.mjs';

const given = new Set();

const isFree = (port) =>
  new Promise((done) => {
    const server = createServer();
    server.once('error', () => done(false));
    server.listen(port, '127.0.0.1', () => server.close(() => done(true)));
  });

/**
 * The port that the variable sets, else the first free one of the wished ones, else any free one. 0 asks for any.
 * "Any" stays below the range that outgoing connections take theirs from, so that a restart finds it free again.
 */
export async function choosePort(env, name, ...wished) {
  const set = env[name];
  if (set && set !== '0') {
    if (!(await isFree(Number(set))))
      throw new Fault(`${name}=${set}: another process uses this port: stop it, or set another ${name}`);
    return Number(set);
  }
  const any = Array.from({ length: 50 }, () => 20_000 + Math.floor(Math.random() * 12_000));
  for (const port of set === '0' ? any : [...wished, ...any]) {
    if (port && !given.has(port) && (await isFree(port))) return given.add(port) && port;
  }
  throw new Fault('no free port on 127.0.0.1');
}
