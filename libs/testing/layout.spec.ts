import { readdirSync, readFileSync } from 'node:fs';
import { libIndexes, projectOf, shipped, sources, sourcesIn, targetOf, type Source } from './spec-sources.js';

/** The libs that each lib may import. Each is a capability; its folders are imported by an index each, which tsconfig.json names. */
const DIRECTIONS: Readonly<Record<string, readonly string[]>> = {
  kit: [],
  events: ['kit'],
  stores: ['events'],
  api: ['kit', 'events', 'stores'],
  log: ['kit', 'events', 'stores'],
  registry: ['kit', 'events', 'stores', 'api', 'log'],
  delivery: ['kit', 'events', 'stores'],
  backlog: ['kit', 'events', 'stores', 'log', 'delivery'],
  record: ['kit', 'events', 'stores', 'log', 'delivery', 'backlog'],
  clients: ['events'],
  deployment: ['kit', 'events', 'stores', 'api', 'log', 'registry', 'delivery', 'backlog'],
  testing: ['kit', 'events', 'log', 'registry', 'delivery', 'backlog'],
};

const DRIVER =
  /^(?:ioredis|kafkajs|bullmq|undici(?:\/.+)?|pino|fastify|rate-limiter-flexible|@bull-board\/.+|@opentelemetry\/.+)$/;
const NEST = /^@nestjs\//;

/** Suffixes that may import a driver, and those that may import Nest; the others may name types of a driver only. */
const MAY_DRIVE = new Set(['adapter', 'module', 'providers', 'strategy', 'processor']);
const MAY_NEST = new Set([...MAY_DRIVE, 'controller', 'consumer', 'guard', 'filter', 'decorator']);
const APPS_ONLY = new Set(['controller', 'consumer', 'processor', 'openapi']);
const COMMAND_LINE_ONLY = new Set(['command', 'group']);

/** Files at the root of an app put it together and find its drivers by their classes. */
const isAssembly = ({ path }: Source): boolean => /^apps\/\w+\/src\/[^/]+$/.test(path);
const shippedLibs = shipped.filter(({ path }) => path.startsWith('libs/'));
const isPure = ({ suffix }: Source): boolean => suffix === '';

const importing = (files: readonly Source[], what: RegExp): string[] =>
  files.flatMap(({ path, imports }) =>
    imports.filter(({ from, isType }) => !isType && what.test(from)).map(({ from }) => `${path} imports ${from}`),
  );

describe('imports', () => {
  it('finds the sources', () => {
    expect(shipped.length).toBeGreaterThan(100);
    expect(readdirSync('libs').toSorted()).toEqual(Object.keys(DIRECTIONS).toSorted());
  });

  it('lead from a lib to the libs below it only', () => {
    const wrong = shippedLibs.flatMap((source) => {
      const lib = projectOf(source.path).slice('libs/'.length);
      const allowed = new Set([lib, ...(DIRECTIONS[lib] ?? [])].map((name) => `libs/${name}`));
      return source.imports
        .map(({ from }) => targetOf(source, from))
        .filter((target) => target !== undefined && !allowed.has(target))
        .map((target) => `${source.path} imports ${target}`);
    });
    expect(wrong).toEqual([]);
  });

  it('go round in no circle of libs', () => {
    const below = (lib: string, seen: readonly string[]): string[] =>
      (DIRECTIONS[lib] ?? []).flatMap((next) =>
        seen.includes(next) ? [[...seen, next].join(' > ')] : below(next, [...seen, next]),
      );
    expect(Object.keys(DIRECTIONS).flatMap((lib) => below(lib, [lib]))).toEqual([]);
  });

  it('lead from an app to no other app, in its specs neither', () => {
    const wrong = sources
      .filter(({ path }) => path.startsWith('apps/'))
      .flatMap((source) =>
        source.imports
          .map(({ from }) => targetOf(source, from))
          .filter(
            (target) => target !== undefined && target !== projectOf(source.path) && !/^(?:libs|docs)\//.test(target),
          )
          .map((target) => `${source.path} imports ${target}`),
      );
    expect(wrong).toEqual([]);
  });

  it('lead from pages, which run in a browser, to one another and the client of their API only', () => {
    const browser = shipped.filter(({ path }) => /^(?:apps\/(?:portal|console)|libs\/clients\/ui)\//.test(path));
    expect(browser.length).toBeGreaterThan(10);
    const allowed = /^(?:\.|preact(?:\/hooks)?$|@preact\/signals$|@relay\/(?:ui|client|operations-client)$)/;
    expect(importing(browser, new RegExp(`^(?!${allowed.source.slice(1)})`))).toEqual([]);
    const others = shipped.filter((source) => !browser.includes(source));
    expect(importing(others, /^(?:preact|@preact\/.+|@relay\/ui)$/)).toEqual([]);
  });

  it('lead to the tools of specs from specs only', () => {
    expect(importing(shipped, /^@relay\/testing$/)).toEqual([]);
  });
});

describe('the role of a file', () => {
  it.each([
    ['libs', shippedLibs],
    ['apps', shipped.filter((source) => source.path.startsWith('apps/') && !isAssembly(source))],
  ])('keeps drivers behind adapters in %s', (_, files) => {
    const others = files.filter(({ suffix }) => !MAY_DRIVE.has(suffix));
    expect(importing(others, DRIVER)).toEqual([]);
  });

  it('keeps the name of kafkajs within a few files of one folder, so that another client is cheap', () => {
    const using = shipped.filter(({ text }) => text.includes('kafkajs'));
    expect(using.length).toBeGreaterThan(3);
    expect(using.length).toBeLessThanOrEqual(8);
    expect(using.filter(({ path }) => !path.startsWith('libs/stores/kafka/')).map(({ path }) => path)).toEqual([]);
  });

  it('keeps the framework out of the package of the client', () => {
    const packaged = shippedLibs.filter(({ path }) => /^libs\/(?:clients|events|kit\/json)\//.test(path));
    expect(packaged.length).toBeGreaterThan(20);
    expect(importing(packaged, NEST)).toEqual([]);
  });

  it('keeps the framework out of what only a few files of an app need', () => {
    const others = shipped.filter((source) => !MAY_NEST.has(source.suffix) && !isPure(source));
    expect(importing(others, NEST)).toEqual([]);
  });

  it('leaves BullMQ unloaded in libs until a queue is used, and the client of undici always', () => {
    expect(importing(shippedLibs, /^(?:bullmq|undici)$/)).toEqual([]);
  });

  it('leaves ports to types, and scripts to Lua', () => {
    const values = (suffix: string): Source[] => shipped.filter((source) => source.suffix === suffix);
    expect(importing(values('port'), /^(?!\.|@relay\/|zod$)/)).toEqual([]);
    expect(importing(values('script'), /^(?!\.|@relay\/)/)).toEqual([]);
  });

  it('is one that only an app, or only the command line, has', () => {
    const wrong = shipped.filter(
      ({ path, suffix }) =>
        (APPS_ONLY.has(suffix) && !path.startsWith('apps/')) ||
        (COMMAND_LINE_ONLY.has(suffix) && !path.startsWith('apps/cli/')),
    );
    expect(wrong.map(({ path }) => path)).toEqual([]);
    const outside = shipped.filter(({ path }) => !path.startsWith('apps/cli/'));
    expect(importing(outside, /^(?:commander|cli-progress)$/)).toEqual([]);
  });

  it('is explained in CONTRIBUTING.md', () => {
    const table = readFileSync('CONTRIBUTING.md', 'utf8').match(/^\| `\..*$/gm) ?? [];
    const explained = table.flatMap((row) =>
      [...(row.split('|')[1] ?? '').matchAll(/`\.([\w-]+)\.ts`/g)].map(([, name = '']) => name),
    );
    const used = new Set(
      [...sources, ...sourcesIn('test'), ...sourcesIn('scripts'), ...sourcesIn('lab')].map(({ suffix }) => suffix),
    );
    used.delete('');
    expect(explained.toSorted()).toEqual([...used].toSorted());
  });
});

describe('every file', () => {
  it.each([...libIndexes])('says what %s owns in 3 to 8 lines at the head of its index', (_, path) => {
    const index = sources.find((source) => source.path === path);
    const head = index?.lines.findIndex((line) => !line.startsWith('//')) ?? 0;
    expect(head).toBeGreaterThanOrEqual(3);
    expect(head).toBeLessThanOrEqual(8);
    expect(index?.lines.some((line) => line.startsWith('export *'))).toBe(false);
  });

  it('holds the size budgets', () => {
    const sizes = shipped.map(({ lines }) => lines.length).toSorted((a, b) => a - b);
    const at = (share: number): number => sizes[Math.floor(sizes.length * share)] ?? 0;
    expect(at(0.5)).toBeLessThanOrEqual(145);
    expect(at(0.9)).toBeLessThanOrEqual(290);
    expect(at(0.999)).toBeLessThanOrEqual(400);
  });

  it('cites no document that is not in the repository', () => {
    const cited = /\b(?:contract|design|style|issue)(?:'s)? section \d|\bthe user named (?!in)|\blater issues\b/i;
    const everywhere = [...sources, ...sourcesIn('test'), ...sourcesIn('scripts'), ...sourcesIn('lab')];
    const wrong = everywhere.flatMap(({ path, lines }) =>
      path.endsWith('layout.spec.ts') ? [] : lines.filter((line) => cited.test(line)).map((line) => `${path}: ${line}`),
    );
    expect(wrong).toEqual([]);
  });

  it('takes the time from Date.now, which is that of Redis', () => {
    const pages = /^(?:apps\/(?:portal|console)|libs\/clients\/ui)\//;
    const found = shipped.filter(({ path, text }) => !pages.test(path) && text.includes('new Date()'));
    expect(found.map(({ path }) => path)).toEqual([]);
  });

  it('uses no any', () => {
    const used = shipped.filter(({ text }) =>
      /\bany\b(?!\w)(?=[\])>,;=])/.test(text.replaceAll(/\/\/.*|\/\*[\s\S]*?\*\//g, '')),
    );
    expect(used.map(({ path }) => path)).toEqual([]);
  });
});
