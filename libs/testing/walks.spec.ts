import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { libIndexes, sources, type Source } from './spec-sources.js';

/** Most files that a reader opens, by the walk of docs/architecture.md. */
const MOST: Readonly<Record<string, number>> = { 'from the socket to 202': 15, 'from the record to settled': 25 };

const byPath = new Map(sources.map((source) => [source.path, source]));
const sections = readFileSync('docs/architecture.md', 'utf8').split(/^## Walk of an envelope: /m);
const walks = sections.slice(1).map((section) => {
  const table = section.split(/^## /m, 1)[0] ?? '';
  const paths = [...table.matchAll(/^\| \[[^\]]+\]\(\.\.\/([^)#]+)[^)]*\)/gm)].map(([, path = '']) => path);
  return { name: section.split('\n', 1)[0] ?? '', paths };
});

/** The files that a file imports. An import of a lib counts for each file of which its index exports a name. */
function importedBy({ path, imports }: Source): string[] {
  return imports.flatMap(({ from }) => {
    const index = byPath.get(libIndexes.get(from) ?? '');
    if (index !== undefined) return importedBy(index);
    return from.startsWith('.') ? [join(dirname(path), from).replace(/\.js$/, '.ts')] : [];
  });
}

/** Whether a file names something that another one exports. */
const names = ({ text }: Source, other: Source): boolean =>
  [...other.text.matchAll(/^export (?:abstract )?(?:async )?(?:class|const|function) (\w+)/gm)].some(([, name = '']) =>
    new RegExp(`\\b${name}\\b`).test(text),
  );

/** Whether the reader of one file finds the other one: by an import of either, such as that of a hook, or by a name. */
const leads = (from: Source, to: Source): boolean =>
  importedBy(from).includes(to.path) || importedBy(to).includes(from.path) || names(from, to);

it('the walks of an envelope are found', () => {
  expect(walks.length).toBeGreaterThan(0);
  expect(Object.keys(MOST)).toEqual(expect.arrayContaining(walks.map(({ name }) => name)));
});

describe.each(walks)('the walk of an envelope $name', ({ name, paths }) => {
  it('opens few files, each once, and all of them exist', () => {
    expect(paths.length).toBeGreaterThan(1);
    expect(paths.length).toBeLessThanOrEqual(MOST[name] ?? 0);
    expect([...new Set(paths)]).toEqual(paths);
    expect(paths.filter((path) => !byPath.has(path))).toEqual([]);
  });

  it('leads to each file from one above it', () => {
    const files = paths.flatMap((path) => byPath.get(path) ?? []);
    const lost = files.filter((file, at) => at > 0 && !files.slice(0, at).some((above) => leads(above, file)));
    expect(lost.map(({ path }) => path)).toEqual([]);
  });
});
