import { readFileSync } from 'node:fs';

interface Locked {
  readonly integrity?: string;
  readonly resolved?: string;
}

const root = new URL('../../', import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, root), 'utf8');
const packages = ['package-lock.json', 'site/package-lock.json']
  .map((name) => JSON.parse(read(name)) as { packages: Record<string, Locked> })
  .flatMap((lock) => Object.entries(lock.packages).filter(([path]) => path !== ''));

describe('the installed packages', () => {
  it('have the digests of package-lock.json, also on other platforms', () => {
    expect(packages.length).toBeGreaterThan(1_000);
    expect(packages.filter(([, { integrity }]) => integrity?.startsWith('sha512-') !== true)).toEqual([]);
  });

  it('come from the configured registry, never from one that package-lock.json names', () => {
    expect(packages.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  });

  it('run no script during the installation', () => {
    for (const folder of ['', 'site/']) expect(read(`${folder}.npmrc`).split('\n')).toContain('ignore-scripts=true');
    // It has no .npmrc.
    const installs = read('Dockerfile').match(/npm ci .*/g);
    expect(installs).toHaveLength(2);
    for (const install of installs ?? []) expect(install).toContain(' --ignore-scripts ');
  });

  it('stand on an image that is pinned by its digest', () => {
    expect(read('Dockerfile')).toMatch(/^ARG NODE_IMAGE=node:[\w.-]+@sha256:[0-9a-f]{64}$/m);
  });
});
