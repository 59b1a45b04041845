import { randomUUID } from 'node:crypto';
import type { LoggedCommand, RegistryLog } from '@relay/registry';

/** What every RegistryLog does. `open` gives a new, empty one at each call. */
export function describeRegistryLog(name: string, open: () => Promise<RegistryLog>): void {
  describe(`${name} as a RegistryLog`, () => {
    const append = (log: RegistryLog, text: string): Promise<number | undefined> =>
      log.append(randomUUID(), Buffer.from(text));
    const read = async (log: RegistryLog, from: number, end: number): Promise<[number, string][]> => {
      const found: LoggedCommand[] = [];
      await log.read(from, end, async (commands) => void found.push(...commands));
      return found.map(({ offset, value }) => [offset, value.toString()]);
    };

    it('begins empty', async () => {
      const log = await open();
      expect(await log.bounds()).toEqual({ start: 0, end: 0 });
      expect(await read(log, 0, 0)).toEqual([]);
    });

    it('tells each command its offset and gives its bytes back, from any offset to any other', async () => {
      const log = await open();
      for (const [offset, text] of ['a', 'ü', '{"c":1}'].entries()) expect(await append(log, text)).toBe(offset);
      expect(await log.bounds()).toEqual({ start: 0, end: 3 });
      expect(await read(log, 0, 3)).toEqual([
        [0, 'a'],
        [1, 'ü'],
        [2, '{"c":1}'],
      ]);
      expect(await read(log, 1, 2)).toEqual([[1, 'ü']]);
    });

    it('gives 300 commands of several senders one order, which each reader finds', async () => {
      const log = await open();
      const offsets = await Promise.all(Array.from({ length: 300 }, (_, n) => append(log, String(n))));
      expect(new Set(offsets).size).toBe(300);
      const found = await read(log, 0, 300);
      expect(found.map(([offset]) => offset)).toEqual(Array.from({ length: 300 }, (_, n) => n));
      for (const [n, offset] of offsets.entries()) expect(found[offset ?? -1]?.[1]).toBe(String(n));
      expect(await read(log, 290, 300)).toEqual(found.slice(290));
    });

    it('waits for each slice to be taken, and ends with what taking it throws', async () => {
      const log = await open();
      for (let n = 0; n < 10; n += 1) await append(log, 'x');
      let taking = 0;
      await log.read(0, 10, async () => {
        taking += 1;
        expect(taking).toBe(1);
        await new Promise(setImmediate);
        taking -= 1;
      });
      const failing = log.read(0, 10, async () => Promise.reject(new Error('no')));
      await expect(failing).rejects.toThrow('no');
    });
  });
}
