import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseYaml } from '@redocly/openapi-core';

const { assemble } = (await import(new URL('chart.mjs', import.meta.url).href)) as {
  assemble: (copy: string, named: { version: string; image: string; source: string }) => void;
};
const json = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));
const { version } = json('package.json') as { version: string };

interface ReleasePlease {
  readonly packages: { readonly '.': { readonly 'extra-files': readonly (string | { readonly path: string })[] } };
}

describe('the version', () => {
  const files = (json('.github/release-please.json') as ReleasePlease).packages['.']['extra-files'];

  it.each(files)('is in %j, which release-please changes', (file) => {
    const text = readFileSync(typeof file === 'string' ? file : file.path, 'utf8');
    const mark = typeof file === 'string' ? 'x-release-please-' : '';
    expect(text).toContain(version);
    expect(text).toContain(mark);
  });

  it('is that of the manifest', () => {
    expect(json('.github/release-please-manifest.json')).toEqual({ '.': version });
  });

  it('is what the label of the image and the name of the compose file’s image follow', () => {
    expect(readFileSync('Dockerfile', 'utf8')).toContain('org.opencontainers.image.version="${VERSION}"');
    expect(readFileSync('docker-compose.yml', 'utf8')).toMatch(/image: partner-relay:\$\{RELAY_VERSION:-/);
  });
});

describe('the chart that is released', () => {
  it('names the image and the repository of the release', () => {
    const folder = mkdtempSync(join(tmpdir(), 'relay-chart-'));
    try {
      const source = 'https://git.example/acme/relay';
      assemble(folder, { version, image: 'registry.example/acme/relay', source });
      const read = (name: string): unknown => parseYaml(readFileSync(join(folder, name), 'utf8'));
      expect(read('values.yaml')).toMatchObject({
        image: { registry: 'registry.example', repository: 'acme/relay', tag: '' },
      });
      const { annotations, ...chart } = read('Chart.yaml') as { annotations: Record<string, string> };
      expect(chart).toMatchObject({ version, appVersion: version, home: source, sources: [source] });
      expect(Object.values(annotations).filter((value) => typeof value !== 'string')).toEqual([]);
      expect(parseYaml(annotations['artifacthub.io/images'] ?? '')).toEqual([
        { name: 'partner-relay', image: `registry.example/acme/relay:${version}` },
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
