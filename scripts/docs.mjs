// npx node scripts/docs.mjs: writes the generated documents anew from the sources. A spec beside each generator says when.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { install } from './lib/build.mjs';
import { clientApi } from './lib/client-api.mjs';
import { root } from './lib/paths.mjs';
import { chartReadme } from './lib/chart-readme.mjs';
import { script } from './lib/process.mjs';

const inDocs = (name) => join(root, 'docs', name);

await script(async (signal) => {
  await install(signal);
  await import('./lib/typescript.mjs');
  const { configurationPage } = await import('./docs/configuration-page.ts');
  const { errorsPage } = await import('../libs/kit/problem/index.ts');
  const { publishedDocuments } = await import('./docs/published-documents.ts');
  for (const [name, document] of Object.entries(publishedDocuments())) writeFileSync(inDocs(name), document);
  await clientApi(signal);
  writeFileSync(inDocs('configuration.md'), configurationPage());
  writeFileSync(inDocs('errors.md'), errorsPage());
  const { jsonText } = await import('./docs/json-text.ts');
  const { valuesSchema } = await import('./docs/chart-schema.ts');
  const chart = join(root, 'charts', 'partner-relay');
  writeFileSync(join(chart, 'values.schema.json'), jsonText(valuesSchema()));
  writeFileSync(join(chart, 'README.md'), chartReadme(readFileSync(join(chart, 'values.yaml'), 'utf8')));
});
