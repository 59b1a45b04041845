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
    const connections = new Connections(4, () => {});
    const held = sockets(connections, 4) as [Socket, ...Socket[]];
    connections.know(held[0], 'a');
    const [newcomer] = sockets(connections, 1) as [Socket];
    expect(alive([...held, newcomer])).toEqual([true, false, true, true, true]);
  });

  it('lets no caller keep more than a quarter: its oldest beyond that goes for a further one', () => {
    const connections = new Connections(4, () => {});
    const held = sockets(connections, 4);
    for (const socket of held) connections.know(socket, 'a');
    expect(held.map((socket) => connections.isKnown(socket))).toEqual([true, false, false, false]);
    const [newcomer] = sockets(connections, 1);
    expect(newcomer?.destroyed).toBe(false);
    expect(alive(held)).toEqual([true, false, true, true]);
  });

  it('keeps room for others, however many callers take all they can', () => {
    const connections = new Connections(100, () => {});
    const held = sockets(connections, 100);
    const counts = ['a', 'b', 'c', 'd', 'e', 'f'].map((caller) => {
      for (const socket of held) connections.know(socket, caller);
      return connections.protectedOf(caller);
    });
    expect(counts).toEqual([25, 18, 14, 10, 8, 6]);
  });

  it('gives a caller its share back when its connections close', async () => {
    const connections = new Connections(8, () => {});
    const [first, second, third] = sockets(connections, 3) as [Socket, Socket, Socket];
    for (const socket of [first, second, third]) connections.know(socket, 'a');
    expect(connections.protectedOf('a')).toBe(2);
    const closed = new Promise((resolve) => first.once('close', resolve));
    first.destroy();
    await closed;
    expect(connections.protectedOf('a')).toBe(1);
    connections.know(third, 'a');
    expect(connections.protectedOf('a')).toBe(2);
  });
});
