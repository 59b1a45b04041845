import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What each lib may import of the others (style: folder = domain). Drivers and shells at the bottom import nothing. */
const DIRECTIONS: Readonly<Record<string, readonly string[]>> = {
  access: ['identity', 'problem', 'redis'],
  admission: [],
  audit: ['events', 'problem', 'publishing'],
  breaker: ['redis'],
  client: ['events'],
  config: [],
  'dead-letters': ['audit', 'delivery', 'events', 'jobs', 'problem', 'publishing', 'redis', 'telemetry'],
  dedupe: ['redis'],
  delivery: ['telemetry'],
  egress: [],
  events: ['json'],
  history: ['events', 'redis'],
  identity: ['keyring', 'problem', 'redis'],
  jobs: ['delivery', 'events', 'redis', 'telemetry'],
  json: [],
  kafka: ['events'],
  keyring: [],
  metrics: ['jobs', 'kafka', 'redis', 'replays', 'telemetry'],
  problem: [],
  progress: ['dedupe', 'redis'],
  publishing: ['events', 'kafka', 'telemetry'],
  redis: [],
  registry: ['identity', 'kafka', 'keyring', 'publishing', 'redis', 'telemetry', 'webhooks'],
  replays: ['audit', 'dead-letters', 'events', 'kafka', 'problem', 'progress', 'redis'],
  retry: ['config', 'dead-letters', 'delivery', 'jobs', 'redis'],
  telemetry: ['config'],
  testing: [
    'dead-letters',
    'dedupe',
    'delivery',
    'events',
    'jobs',
    'progress',
    'publishing',
    'registry',
    'replays',
    'retry',
    'telemetry',
  ],
  webhooks: ['events', 'keyring', 'redis'],
};

const DRIVERS = new Set(
  '@opentelemetry/api @opentelemetry/sdk-trace bullmq ioredis kafkajs undici pino rate-limiter-flexible fastify'.split(
    ' ',
  ),
);
/** Suffixes that may import a driver as a value; the others may only name its types. */
const MAY_DRIVE = new Set(['adapter', 'module', 'strategy', 'processor', 'spec', 'live-spec', 'contract']);
const MAY_NEST = new Set([
  'module',
  'guard',
  'filter',
  'controller',
  'consumer',
  'decorator',
  'strategy',
  'adapter',
  'spec',
]);

interface Source {
  path: string;
  lines: string[];
  suffix: string;
  imports: { from: string; isType: boolean }[];
}

const sources = ['apps', 'libs'].flatMap((root) =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name): Source => {
      const path = join(root, name);
      const text = readFileSync(path, 'utf8');
      const imports = [...text.matchAll(/^(?:import|export) (type )?[^;]*? from '([^']+)';/gms)].map((match) => ({
        from: match[2] ?? '',
        isType: match[1] !== undefined,
      }));
      return { path, lines: text.split('\n'), suffix: path.split('/').at(-1)?.split('.').at(-2) ?? '', imports };
    }),
);
const shipped = sources.filter(
  ({ path }) => !path.includes('spec') && !path.startsWith('libs/testing/') && !path.endsWith('.gen.ts'),
);
const isPure = ({ path }: Source): boolean => path.split('/').at(-1)?.split('.').length === 2;
const libOf = (path: string): string | undefined => /^libs\/([^/]+)\//.exec(path)?.[1];

describe('layout', () => {
  it('finds the sources', () => {
    expect(shipped.length).toBeGreaterThan(100);
  });

  it('lets each lib import only the libs below it', () => {
    const wrong = shipped.flatMap(({ path, imports }) => {
      const lib = libOf(path);
      if (lib === undefined) return [];
      const allowed = DIRECTIONS[lib] ?? [];
      return imports
        .map(({ from }) => /^@relay\/(.+)$/.exec(from)?.[1])
        .filter((other) => other !== undefined && !allowed.includes(other))
        .map((other) => `${path} imports ${other}`);
    });
    expect(wrong).toEqual([]);
  });

  it('keeps drivers behind adapters', () => {
    const wrong = shipped
      .filter(({ path, suffix }) => path.startsWith('libs/') && !MAY_DRIVE.has(suffix))
      .flatMap(({ path, imports }) =>
        imports.filter(({ from, isType }) => !isType && DRIVERS.has(from)).map(({ from }) => `${path} imports ${from}`),
      );
    expect(wrong).toEqual([]);
  });

  it('keeps the framework out of what has no suffix', () => {
    const wrong = shipped
      .filter((source) => source.path.startsWith('libs/') && isPure(source) && !MAY_NEST.has(source.suffix))
      .flatMap(({ path, imports }) =>
        imports.filter(({ from }) => from.startsWith('@nestjs/')).map(({ from }) => `${path} imports ${from}`),
      );
    expect(wrong).toEqual([]);
  });

  it.each(Object.keys(DIRECTIONS))('says what %s owns in 3 to 8 lines at the head of its index', (lib) => {
    const index = sources.find(({ path }) => path === `libs/${lib}/src/index.ts`);
    const head = index?.lines.findIndex((line) => !line.startsWith('//')) ?? 0;
    expect(head).toBeGreaterThanOrEqual(3);
    expect(head).toBeLessThanOrEqual(8);
    expect(index?.lines.some((line) => line.startsWith('export *'))).toBe(false);
  });

  it('holds the size budgets', () => {
    const sizes = shipped.map(({ lines }) => lines.length).toSorted((a, b) => a - b);
    const at = (share: number): number => sizes[Math.floor(sizes.length * share)] ?? 0;
    expect(at(0.5)).toBeLessThanOrEqual(60);
    expect(at(0.9)).toBeLessThanOrEqual(150);
    expect(at(0.999)).toBeLessThanOrEqual(300);
  });

  it('cites no document that is not in the repository', () => {
    const cited = /\b(?:contract|design|style|issue)(?:'s)? section \d|\bthe user named (?!in)|\blater issues\b/i;
    const wrong = sources.flatMap(({ path, lines }) =>
      path.endsWith('layout.spec.ts') ? [] : lines.filter((line) => cited.test(line)).map((line) => `${path}: ${line}`),
    );
    expect(wrong).toEqual([]);
  });

  it('has at most one exported class a file, five constructor dependencies and no any', () => {
    const wrong = shipped.flatMap(({ path, lines }) => {
      const text = lines.join('\n');
      const faults: string[] = [];
      if ([...text.matchAll(/^export (?:abstract )?class \w+(?!.* extends \w*(?:Error|Exception) )/gm)].length > 1)
        faults.push(`${path} exports several classes`);
      if (/\bany\b(?!\w)(?=[\])>,;=])/.test(text.replaceAll(/\/\/.*|\/\*[\s\S]*?\*\//g, '')))
        faults.push(`${path} uses any`);
      const constructor = /constructor\(([\s\S]*?)\n? *\) \{/.exec(text)?.[1] ?? '';
      if ([...constructor.matchAll(/private readonly|readonly \w+:/g)].length > 6)
        faults.push(`${path} has too many dependencies`);
      return faults;
    });
    expect(wrong).toEqual([]);
  });
});
