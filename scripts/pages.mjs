// node scripts/pages.mjs: builds the pages into dist/pages and prints the sizes of their files. The last step of `npm run build`.
import { buildPages } from './lib/pages.mjs';

for (const { file, bytes, packed } of await buildPages()) console.log(`${file}  ${bytes} bytes, ${packed} packed`);
