import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { allFaults } from './catalog.js';
import { variants } from './sabotage.js';

const root = join(import.meta.dirname, '..', '..', '..');

describe('a variant that is broken on purpose', () => {
  it('exists for every way of breaking the promise that the suite must notice', () => {
    expect(variants().length).toBeGreaterThanOrEqual(8);
  });

  it.each(variants())('($name) still applies to the sources', ({ file }) => {
    expect(() => execFileSync('git', ['apply', '--check', file], { cwd: root, stdio: 'pipe' })).not.toThrow();
  });

  it.each(variants())('($name) names a fault that exists and says what it breaks', async ({ fault, breaks }) => {
    expect((await allFaults()).map(({ name }) => name)).toContain(fault);
    expect(breaks).toMatch(/\w+ \w+/);
  });
});

describe('a fault', () => {
  it('has a name of its own and one of the rows', async () => {
    const faults = await allFaults();
    expect(new Set(faults.map(({ name }) => name)).size).toBe(faults.length);
    expect(faults.every(({ row }) => row >= 1 && row <= 21)).toBe(true);
  });
});
