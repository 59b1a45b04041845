import { randomUUID } from 'node:crypto';
import type { LoggedCommand, RegistryLog } from '@relay/registry';

/** Contract of every RegistryLog. `open` returns a new, empty log at each call. */
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

    it('returns the offset of each command, and reads its bytes from any offset to any other', async () => {
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

    it('lets the commands before an offset go and keeps the others where they are', async () => {
      const log = await open();
      for (let n = 0; n < 10; n += 1) await append(log, String(n));
      expect(await log.deleteBefore(4)).toBe('deleted');
      expect(await log.bounds()).toEqual({ start: 4, end: 10 });
      expect((await read(log, 4, 10)).map(([offset, text]) => `${offset}=${text}`)).toEqual(
        [4, 5, 6, 7, 8, 9].map((n) => `${n}=${n}`),
      );
      // A read of deleted records returns the remaining ones; the reader sees that by their offsets.
      expect((await read(log, 0, 10))[0]).toEqual([4, '4']);
      expect(await log.deleteBefore(2)).toBe('deleted');
      expect(await log.bounds()).toEqual({ start: 4, end: 10 });
      expect(await append(log, '10')).toBe(10);
      await expect(log.deleteBefore(100)).rejects.toThrow();
    });

    it('waits for each slice to be taken, and rejects with the error of taking it', async () => {
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
