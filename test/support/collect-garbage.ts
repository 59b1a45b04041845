import { once } from 'node:events';
import type { App } from './app.js';

/** Has a process that was started with `--inspect=127.0.0.1:0` collect its garbage now (Chrome DevTools Protocol). */
export async function collectGarbage(app: App): Promise<void> {
  const address = app.log.flatMap((line) => /ws:\/\/\S+/.exec(line) ?? []).at(-1);
  if (address === undefined) throw new Error(`the ${app.role} listens for no debugger`);
  const socket = new WebSocket(address);
  await once(socket, 'open');
  socket.send(JSON.stringify({ id: 1, method: 'HeapProfiler.collectGarbage' }));
  await once(socket, 'message');
  socket.close();
}
