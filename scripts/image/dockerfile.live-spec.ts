import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, matchesGlob } from 'node:path';
import { build } from 'esbuild';

const dockerfile = readFileSync('Dockerfile', 'utf8')
  .replaceAll(/^\s*#.*\n/gm, '')
  .replaceAll(/\\\n\s*/g, ' ');
const ignored = readFileSync('.dockerignore', 'utf8').trim().split('\n');

interface Copy {
  readonly sources: readonly string[];
  readonly target: string;
}
/** What each stage copies from the repository. */
const stages = dockerfile.split(/^FROM /m).slice(1);
const copiesOf = (stage: string): Copy[] =>
  [...stage.matchAll(/^COPY (?!--from)(?:--\S+ )*(.+)$/gm)].map(([, words = '']) => {
    const names = words.split(/\s+/);
    return { sources: names.slice(0, -1), target: names.at(-1) ?? '' };
  });
const building = stages[0] ?? '';
const IMPORTS = {
  bundle: true,
  write: false,
  metafile: true,
  platform: 'node',
  format: 'esm',
  outdir: '.',
  packages: 'external',
} as const;

/** Whether a build finds a file: the last line of .dockerignore that names it, or a folder above it, decides. */
function isSent(path: string): boolean {
  const parts = path.split('/');
  const above = parts.map((_, index) => parts.slice(0, index + 1).join('/'));
  const deciding = ignored.findLast((line) => above.some((name) => matchesGlob(name, line.replace('!', ''))));
  return deciding?.startsWith('!') ?? true;
}

describe('the Dockerfile', () => {
  it('copies what there is, and what .dockerignore leaves', () => {
    const sources = stages.flatMap(copiesOf).flatMap((copy) => copy.sources);
    const missing = sources.filter((source) => {
      const found = globSync(source);
      return found.length === 0 || !found.some((path) => isSent(path) || globSync(`${path}/**`).some(isSent));
    });
    expect(missing).toEqual([]);
    expect(sources.length).toBeGreaterThan(10);
  });

  it('has a base by its digest, an init, a user without a name and a check of its health', () => {
    expect(dockerfile).toMatch(/^ARG NODE_IMAGE=node:[\d.]+-\w+-slim@sha256:[0-9a-f]{64}$/m);
    expect(dockerfile).toMatch(/^USER 65532:65532$/m);
    expect(dockerfile).toMatch(/^ENTRYPOINT \["\/usr\/bin\/tini", "--"/m);
    expect(dockerfile).toMatch(/^HEALTHCHECK /m);
  });

  it('runs the Node that the packages of the repository run', () => {
    const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      devDependencies: Record<string, string>;
    };
    expect(dockerfile).toContain(`ARG NODE_IMAGE=node:${devDependencies['node']}-`);
  });

  it('builds the image of production without --target, whatever `dev` adds', () => {
    expect(stages.at(-1)?.trim()).toBe('relay');
    expect(stages.find((stage) => stage.includes(' AS relay\n'))).not.toMatch(/--from=(?:stores|kafka)/);
  });

  it('has every file in `dev` that partner-relay dev imports', async () => {
    const { metafile } = await build({ ...IMPORTS, entryPoints: ['scripts/dev.mjs'] });
    const dev = stages.find((stage) => stage.startsWith('relay AS dev\n')) ?? '';
    const sources = copiesOf(dev).flatMap((copy) => copy.sources);
    const copied = new Set(sources.flatMap((source) => globSync([source, `${source}/**`])));
    const imported = Object.keys(metafile.inputs);
    expect(imported).toContain('scripts/lib/kafka.mjs');
    expect(imported.filter((path) => !copied.has(path) || !isSent(path))).toEqual([]);
    expect(dev).toMatch(/^USER 65532:65532$/m);
    expect(dev).toMatch(/^ENTRYPOINT \["\/usr\/bin\/tini", "--", "node", "\/app\/scripts\/dev.mjs"\]$/m);
  });

  it('builds with the files that it copies, and no others', () => {
    const folder = mkdtempSync(join(tmpdir(), 'relay-dockerfile-'));
    try {
      for (const { sources, target } of copiesOf(building))
        for (const path of sources.flatMap((source) => globSync(source)))
          cpSync(path, join(folder, target.endsWith('/') ? join(target, path.split('/').at(-1) ?? '') : target), {
            recursive: true,
            filter: (file) => isSent(file),
          });
      symlinkSync(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'));
      const commands = [...building.matchAll(/^RUN (?!npm ci )(.+)$/gm)].map(([, command = '']) => command.split(' '));
      expect(commands).toHaveLength(2);
      for (const [program = '', ...args] of commands)
        execFileSync(program, args, { cwd: folder, stdio: 'pipe', timeout: 240_000 });
      const [, made = ''] = /^COPY --from=build \/app\/(\S+) dist$/m.exec(dockerfile) ?? [];
      for (const app of ['ingress', 'worker', 'operations', 'cli'])
        expect(existsSync(join(folder, made, 'apps', app, 'src', 'main.js'))).toBe(true);
      expect(existsSync(join(folder, made, 'pages', 'portal', 'index.html'))).toBe(true);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
