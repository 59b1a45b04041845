import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { MemoryLimit } from './memory-limit.js';

const MIB = 1_048_576;
const limit = MemoryLimit.create(128 * MIB);
afterAll(() => limit?.remove());

/** Runs a program of Node under the limit; returns the signal that ended it. */
async function signalOf(program: string): Promise<NodeJS.Signals | null> {
  const [command = '', ...args] = limit?.around([process.execPath, '--eval', program]) ?? [];
  const child = spawn(command, args, { stdio: 'ignore' });
  const [, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return signal;
}

// Where nobody may make a group the abuse suite looks at what the process has instead.
(limit === undefined ? describe.skip : describe)('a limit of memory, where this machine lets one be made', () => {
  it('the limit of memory lets a process be that needs less, and kills one that takes more', async () => {
    expect(await signalOf('Buffer.alloc(16 * 1048576, 1)')).toBeNull();
    expect(limit?.kills()).toBe(0);
    expect(await signalOf('Buffer.alloc(256 * 1048576, 1)')).toBe('SIGKILL');
    expect(limit?.kills()).toBe(1);
  });
});
