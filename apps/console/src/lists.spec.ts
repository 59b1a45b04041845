import { PAGE, pageFrom } from './lists.js';

const all = Array.from({ length: 2 * PAGE + 1 }, (_, index) => index);

it('turns pages until every row was shown once', () => {
  const shown: number[] = [];
  let at: number | undefined = 0;
  while (at !== undefined) {
    const { rows, later }: ReturnType<typeof pageFrom<number>> = pageFrom(all, String(at));
    shown.push(...rows);
    at = later;
  }
  expect(shown).toEqual(all);
  const last = pageFrom(all, String(2 * PAGE));
  expect([last.rows.length, last.from, last.earlier, last.later]).toEqual([1, 2 * PAGE, PAGE, undefined]);
});

it.each([undefined, '', 'x', '-1', '1.5', 'Infinity', String(all.length)])('begins at the head for %j', (asked) => {
  expect(pageFrom(all, asked)).toMatchObject({ from: 0, earlier: undefined, later: PAGE });
});
