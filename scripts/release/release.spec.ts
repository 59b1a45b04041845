import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseYaml } from '@redocly/openapi-core';

interface Commit {
  readonly hash: string;
  readonly subject: string;
  readonly body: string;
}
const module = async (name: string): Promise<unknown> => import(new URL(name, import.meta.url).href);
const { mentions } = (await module('versions.mjs')) as { mentions: () => { file: string; version: string }[] };
const { commitsIn, entries, GIT_FORMAT, listed, section } = (await module('changelog.mjs')) as {
  commitsIn: (printed: string) => Commit[];
  entries: (text: string) => string[];
  GIT_FORMAT: string;
  listed: (commits: readonly Commit[]) => string;
  section: (changelog: string, version: string) => string | undefined;
};
const { assemble } = (await module('chart.mjs')) as {
  assemble: (copy: string, named: { version: string; image: string; source: string }) => void;
};

const json = (path: string): { version: string; info: { version: string } } => JSON.parse(readFileSync(path, 'utf8'));
const { version } = json('package.json');

describe('the version', () => {
  it('is one, in every file that a tool reads it from', () => {
    expect(mentions().filter((mention) => mention.version !== version)).toEqual([]);
    expect(mentions().length).toBeGreaterThanOrEqual(10);
  });

  it.each(['docs/openapi.json', 'docs/asyncapi.json'])('is that of %s', (path) => {
    expect(json(path).info.version).toBe(version);
  });

  it('is what the label of the image and the name of the compose file’s image follow', () => {
    expect(readFileSync('Dockerfile', 'utf8')).toContain('org.opencontainers.image.version="${VERSION}"');
    expect(readFileSync('docker-compose.yml', 'utf8')).toMatch(/image: partner-relay:\$\{RELAY_VERSION:-/);
  });
});

describe('the section of a version in the changelog', () => {
  const changelog =
    '# Changelog\n\n## Unreleased\n\n- new\n\n## [1.2.0] - 2026-01-01\n\n- **a:** one\n  more\n- two\n\n## 1.1.0\n';

  it.each([
    ['1.2.0', '- **a:** one\n  more\n- two'],
    ['1.1.0', ''],
    ['1.2', undefined],
    ['Unreleased', '- new'],
  ])('of %s is found', (wanted, text) => {
    expect(section(changelog, wanted)).toBe(text);
  });

  it('has its entries as lines for Artifact Hub', () => {
    expect(entries(section(changelog, '1.2.0') ?? '')).toEqual(['**a:** one more', 'two']);
  });
});

describe('commits since the release before', () => {
  const commit = (subject: string, body = ''): Commit => ({ hash: '0123456789abcdef', subject, body });

  it('are told in groups by what they are for users', () => {
    const commits = [
      commit('fix(worker): one'),
      commit('feat: two'),
      commit('feat(api)!: three'),
      commit('perf: four', 'BREAKING CHANGE: five'),
      commit('test: six'),
      commit('Merge branch x'),
    ];
    expect(listed(commits)).toBe(
      [
        '### Breaking changes\n\n- **api:** three (0123456)\n- four (0123456)',
        '### Features\n\n- two (0123456)',
        '### Fixes\n\n- **worker:** one (0123456)',
      ].join('\n\n'),
    );
  });

  it('may change nothing for users', () => {
    expect(listed([commit('docs: one'), commit('no such type: two'), commit('toString: three')])).toBe('');
  });

  it('are read as git prints them', () => {
    const folder = mkdtempSync(join(tmpdir(), 'relay-commits-'));
    const git = (...args: string[]): string =>
      execFileSync('git', ['-C', folder, '-c', 'user.name=a', '-c', 'user.email=a@b.example', ...args], {
        encoding: 'utf8',
      });
    try {
      git('init', '--quiet');
      git('commit', '--quiet', '--allow-empty', '--message', 'fix: one');
      git('commit', '--quiet', '--allow-empty', '--message', 'feat: two', '--message', 'With a body.\n\nOf two parts.');
      expect(commitsIn(git('log', GIT_FORMAT))).toEqual([
        { hash: expect.stringMatching(/^[0-9a-f]{40}$/), subject: 'feat: two', body: 'With a body.\n\nOf two parts.' },
        { hash: expect.stringMatching(/^[0-9a-f]{40}$/), subject: 'fix: one', body: '' },
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
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
