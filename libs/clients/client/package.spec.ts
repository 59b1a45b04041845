import { readFileSync } from 'node:fs';

const read = (path: string): Record<string, unknown> & { dependencies: Record<string, string> } =>
  JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));

describe('the package', () => {
  const [own, relay] = [read('./package.json'), read('../../../package.json')];

  it('has the version of the relay whose API it speaks, and its licence', () => {
    expect([own['version'], own['license']]).toEqual([relay['version'], relay['license']]);
  });

  it('installs nothing but the zod that it is tested with', () => {
    expect(own.dependencies).toEqual({ zod: `^${relay.dependencies['zod']}` });
  });
});
