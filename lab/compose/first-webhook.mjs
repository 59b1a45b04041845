// The commands of docs/integrate that register a webhook and send an envelope, with a stack's addresses and credentials put in.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../scripts/lib/paths.mjs';
import { run } from '../../scripts/lib/process.mjs';

export function tryIt({ relay, endpoint, partner, source }) {
  const text = ['first-webhook', 'send'].map((name) =>
    readFileSync(join(root, 'docs', 'integrate', `${name}.md`), 'utf8'),
  );
  const [settings, register, , authenticate, post] = [...text.join('').matchAll(/^```bash.*\n([^]*?)^```$/gm)].map(
    ([, code]) =>
      [
        ['http://127.0.0.1:3000', relay],
        ['http://127.0.0.1:3400', endpoint],
        ['partner_…:relay_sk_…', `${partner.clientId}:${partner.clientSecret}`],
        ['source_…:relay_sk_…', `${source.clientId}:${source.clientSecret}`],
      ].reduce((line, [printed, ours]) => line.replaceAll(printed, ours), code),
  );
  const bash = (env, ...blocks) =>
    run('bash', ['-euc', blocks.join('\n')], { capture: true, env, cwd: root, timeoutMs: 60_000 });
  const send = (env) => bash(env, settings, authenticate, post);
  return {
    /** The output of registering and of sending. */
    async all(env) {
      return [await bash(env, settings, register), await send(env)];
    },
    send,
  };
}
