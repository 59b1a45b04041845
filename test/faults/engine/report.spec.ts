import { readFileSync } from 'node:fs';

const sum = /\*\*(\d[\s\S]*?)\*\*/.exec(readFileSync('docs/evidence/faults.md', 'utf8'))?.[1]?.replaceAll(/\s+/g, ' ');

describe('the table of faults', () => {
  it('has a sum, and nothing in it is lost', () => {
    expect(sum).toMatch(/ 0 lost,/);
  });

  it('is quoted by the README as it is', () => {
    expect(readFileSync('README.md', 'utf8').replaceAll(/\s+/g, ' ')).toContain(sum);
  });
});
