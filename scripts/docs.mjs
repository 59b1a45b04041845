// npx node scripts/docs.mjs: writes the generated documents anew from the built code. A spec beside each generator says when.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from './lib/build.mjs';
import { root } from './lib/paths.mjs';
import { script } from './lib/process.mjs';

await script(async (signal) => {
  await build(signal);
  const { configurationPage } = await import('../dist/apps/cli/src/configuration-page.js');
  const { errorsPage } = await import('../dist/libs/problem/src/index.js');
  writeFileSync(join(root, 'docs', 'configuration.md'), configurationPage());
  writeFileSync(join(root, 'docs', 'errors.md'), errorsPage());
});
