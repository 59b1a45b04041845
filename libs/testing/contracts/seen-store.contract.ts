import { randomBytes, randomUUID } from 'node:crypto';
import type { SeenStore } from '@relay/dedupe';

const anEntry = (id: string = randomUUID()): { id: string; hash: string } => ({
  id,
  hash: randomBytes(8).toString('hex'),
});

/** Contract of every SeenStore. `open` is called once; ids are random, so a store may hold others. */
export function describeSeenStore(name: string, open: () => Promise<SeenStore>): void {
  describe(`${name} as a SeenStore`, () => {
    let store: SeenStore;
    beforeAll(async () => {
      store = await open();
    });

    it('does not find an id without a mark', async () => {
      expect(await store.find([randomUUID(), randomUUID()])).toEqual([undefined, undefined]);
    });

    it('takes and answers empty lists', async () => {
      await store.markPublished([]);
      expect(await store.find([])).toEqual([]);
    });

    it('finds marks in the order of the ids', async () => {
      const [one, other] = [anEntry(), anEntry()];
      await store.markPublished([one, other]);
      expect(await store.find([other.id, randomUUID(), one.id])).toEqual([
        { state: 'published', hash: other.hash },
        undefined,
        { state: 'published', hash: one.hash },
      ]);
    });

    it('never changes a mark that is there, neither in one call nor in the next', async () => {
      const first = anEntry();
      await store.markPublished([first, anEntry(first.id)]);
      await store.markPublished([anEntry(first.id)]);
      expect(await store.find([first.id])).toEqual([{ state: 'published', hash: first.hash }]);
    });

    it('takes 200 ids at once', async () => {
      const entries = Array.from({ length: 200 }, () => anEntry());
      await store.markPublished(entries);
      const marks = await store.find(entries.map((entry) => entry.id));
      expect(marks.map((mark) => mark?.hash)).toEqual(entries.map((entry) => entry.hash));
    });
  });
}
