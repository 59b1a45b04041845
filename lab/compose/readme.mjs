// The lines of README.md under "Try it", with a stack's addresses and credentials put in.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../scripts/lib/paths.mjs';
import { run } from '../../scripts/lib/process.mjs';

export function tryIt({ relay, endpoint, partner, source }) {
  const text = readFileSync(join(root, 'README.md'), 'utf8').split('\n## Try it\n')[1].split('\n## ')[0];
  const [settings, register, send] = [...text.matchAll(/^```bash\n([^]*?)^```$/gm)].map(([, code]) =>
    [
      ['http://127.0.0.1:3000', relay],
      ['http://127.0.0.1:3400', endpoint],
      ['partner_…:relay_sk_…', `${partner.clientId}:${partner.clientSecret}`],
      ['source_…:relay_sk_…', `${source.clientId}:${source.clientSecret}`],
    ].reduce((line, [printed, ours]) => line.replaceAll(printed, ours), code),
  );
  const bash = (env, ...blocks) =>
    run('bash', ['-euc', blocks.join('\n')], { capture: true, env, cwd: root, timeoutMs: 60_000 });
  return {
    /** The output of registering and of sending. */
    async all(env) {
      return [await bash(env, settings, register), await bash(env, settings, send)];
    },
    send: (env) => bash(env, settings, send),
  };
}
