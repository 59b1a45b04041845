import { readFileSync } from 'node:fs';
import { shipped } from './spec-sources.js';

it('the contract names every quota of the code', () => {
  const names = shipped.flatMap(({ text }) =>
    [...text.matchAll(/name: '([\w-]+)',\s*points/g), ...text.matchAll(/\bquota\('([\w-]+)',/g)].map(
      ([, name = '']) => name,
    ),
  );
  expect(names.length).toBeGreaterThan(12);
  const contract = readFileSync('docs/contract.md', 'utf8');
  const [, table = ''] = /### Quotas(.*?)\n## /s.exec(contract) ?? [];
  const told = new Set([...table.matchAll(/`([\w-]+)`/g)].map(([, name]) => name));
  expect(names.filter((name) => !told.has(name))).toEqual([]);
});
