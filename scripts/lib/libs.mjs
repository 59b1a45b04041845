// The index of each lib by its name in imports, `@relay/x`, as tsconfig.json has it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './paths.mjs';

const { compilerOptions } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'));

/** @returns absolute path of each index by `@relay/x` */
export const libs = new Map(Object.entries(compilerOptions.paths).map(([name, [path]]) => [name, join(root, path)]));
