/** The rows of the table of docs/evidence/faults.md, by the name of their fault. @param width cells of a row; others are of an older page */
export function rowsOf(page: string, width: number): ReadonlyMap<string, readonly string[]> {
  const rows = page
    .split('\n')
    .filter((line) => /^\| \d/.test(line))
    .map((line) => line.split('|').slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()));
  return new Map(rows.filter((cells) => cells.length === width).map((cells) => [cells[1] ?? '', cells]));
}

/** The sum of a column's numbers, which are written with thousands separators. @param number finds it in a cell */
export function columnSum(rows: readonly (readonly string[])[], column: number, number: RegExp = /^([\d,]+)/): number {
  const numbers = rows.map((row) => number.exec(row[column] ?? '')?.[1] ?? '0');
  return numbers.reduce((sum, text) => sum + Number(text.replaceAll(',', '')), 0);
}

/** The seeds of the runs that a page is of. */
export const seedsOf = (page: string): string => /Seed ([^(]+) \(/.exec(page)?.[1] ?? '';
