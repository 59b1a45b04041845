import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

// For the specs of the layout only.

export interface Source {
  readonly path: string;
  readonly text: string;
  readonly lines: readonly string[];
  /** The role in the file's name: `adapter` of `x.adapter.ts`; empty where there is none. */
  readonly suffix: string;
  readonly imports: readonly { readonly from: string; readonly isType: boolean }[];
}

const sourceOf = (path: string): Source => {
  const text = readFileSync(path, 'utf8');
  const imports = [...text.matchAll(/^(?:import|export) (type )?[^;]*? from '([^']+)';/gms)].map((match) => ({
    from: match[2] ?? '',
    isType: match[1] !== undefined,
  }));
  const [, suffix = ''] = /\.([\w-]+)\.tsx?$/.exec(path) ?? [];
  return { path, text, lines: text.split('\n'), suffix, imports };
};

export const sourcesIn = (root: string): Source[] =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.endsWith('.d.ts'))
    .map((name) => sourceOf(join(root, name)));

export const sources = ['apps', 'libs'].flatMap(sourcesIn);

/** Sources that the processes run, without specs, helpers of specs and generated files. */
export const shipped = sources.filter(
  ({ path }) => !path.includes('spec') && !path.startsWith('libs/testing/') && !path.endsWith('.gen.ts'),
);

/** `apps/cli` of a file in it. */
export const projectOf = (path: string): string => path.split('/').slice(0, 2).join('/');

const { compilerOptions } = JSON.parse(readFileSync('tsconfig.json', 'utf8')) as {
  compilerOptions: { paths: Record<string, [path: string]> };
};
/** The path of each index of a lib by its name in imports: `libs/stores/redis/index.ts` of `@relay/redis`. */
export const libIndexes: ReadonlyMap<string, string> = new Map(
  Object.entries(compilerOptions.paths).map(([name, [path]]) => [name, join(path)]),
);

/** The project that an import leads to: `libs/stores`, or the app or lib of a relative path; undefined for a package. */
export function targetOf({ path }: Source, from: string): string | undefined {
  const index = libIndexes.get(from);
  if (index !== undefined) return projectOf(index);
  return from.startsWith('.') ? projectOf(join(dirname(path), from)) : undefined;
}
