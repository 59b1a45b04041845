// One Redis as a local process.
import { spawnService } from './service.mjs';
import { ask } from './tcp.mjs';

export const name = 'redis';
export const given = 'REDIS_URL';
export const ports = { port: ['REDIS_PORT', 6379] };
export const address = (port) => `redis://127.0.0.1:${port}`;
export const portIsTaken = /Address already in use/;

/** Whether our own Redis answers here and has loaded its data: another one on the same port does not count. */
export const answers = async ({ port, pid }) => {
  const info = await ask(port, 'PING\r\nINFO server\r\nPING\r\n', (answer) => {
    const text = answer.toString('latin1');
    return text.endsWith('+PONG\r\n') && text.includes('process_id:') ? text : undefined;
  });
  return info !== undefined && (pid === undefined || info.includes(`process_id:${pid}\r\n`));
};

export const needs = () => ['redis-server'];
export const prepare = () => {};

/** @param more further options of the server */
export async function launch(folder, { port }, more = {}) {
  const options = {
    port,
    bind: '127.0.0.1',
    dir: folder,
    appendonly: 'yes',
    appendfsync: 'always',
    'maxmemory-policy': 'noeviction',
    save: '',
    databases: 64, // tests keep apart by database number
    'set-proc-title': 'no', // the folder in the command line tells whose process it is
    ...more,
  };
  return spawnService(
    'redis-server',
    Object.entries(options).flatMap(([key, value]) => [`--${key}`, String(value)]),
    folder,
  );
}
