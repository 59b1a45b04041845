// npm run test:sign-in: people sign in to the console at a real identity provider, in Chromium.
import { join } from 'node:path';
import { need } from '../scripts/lib/packages.mjs';
import { node24, root } from '../scripts/lib/paths.mjs';
import { run, script } from '../scripts/lib/process.mjs';

await script(async (signal) => {
  await need(['chromium'], signal);
  await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: import.meta.dirname, signal });
  const env = { ...process.env, RELAY_OIDC_PROVIDER: join(import.meta.dirname, 'sign-in', 'provider.mjs') };
  const test = ['scripts/test.mjs', '--selectProjects', 'e2e', '--testPathPatterns', 'e2e/sign-in'];
  await run(node24, test, { cwd: root, env, signal });
});
