import { Socket } from 'node:net';
import { Connections } from './connections.js';

const sockets = (connections: Connections, count: number): Socket[] =>
  Array.from({ length: count }, () => {
    const socket = new Socket();
    connections.admit(socket);
    return socket;
  });
const alive = (all: readonly Socket[]): boolean[] => all.map(({ destroyed }) => !destroyed);

describe('Connections', () => {
  it('ends the oldest on which nobody showed a credential, for a further one', () => {
    const connections = new Connections(3, () => {});
    const [first, second, third] = sockets(connections, 3) as [Socket, Socket, Socket];
    connections.know(first, 'a');
    const [fourth] = sockets(connections, 1) as [Socket];
    expect(alive([first, second, third, fourth])).toEqual([true, false, true, true]);
  });

  it('lets no caller keep more than half: its oldest beyond that goes for a further one', () => {
    const connections = new Connections(4, () => {});
    const held = sockets(connections, 4);
    for (const socket of held) connections.know(socket, 'a');
    const [newcomer] = sockets(connections, 1);
    expect(newcomer?.destroyed).toBe(false);
    expect(alive(held)).toEqual([true, true, false, true]);
  });

  it('gives a caller its half back when its connections close', async () => {
    const connections = new Connections(4, () => {});
    const [first, ...others] = sockets(connections, 3) as [Socket, Socket, Socket];
    connections.know(first, 'a');
    connections.know(others[0], 'a');
    const closed = new Promise((resolve) => first.once('close', resolve));
    first.destroy();
    await closed;
    connections.know(others[1], 'a');
    const [fourth, fifth] = sockets(connections, 2) as [Socket, Socket];
    sockets(connections, 1);
    expect(alive([...others, fourth, fifth])).toEqual([true, true, false, true]);
  });
});
