// node scripts/client-api.mjs: writes the generated files of libs/clients unless they are up to date.
import { clientApi } from './lib/client-api.mjs';
import { script } from './lib/process.mjs';

await script(clientApi);
