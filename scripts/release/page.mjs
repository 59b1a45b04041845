// The release's page: what changed, and the bill of materials of the production dependencies.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../lib/paths.mjs';
import { Fault } from '../lib/process.mjs';
import { commitsIn, GIT_FORMAT, listed, section } from './changelog.mjs';

export async function page({ act, capture, version, folder }) {
  const [text, bill] = [join(folder, 'notes.md'), join(folder, 'sbom.cdx.json')];
  writeFileSync(text, await notes({ capture, version }));
  writeFileSync(bill, await capture('npm', ['run', '-s', 'sbom']));
  const tag = `v${version}`;
  const args = ['release', 'create', tag, '--verify-tag', `--title=${tag}`, `--notes-file=${text}`];
  await act('gh', [...args, ...(version.includes('-') ? ['--prerelease'] : []), bill]);
}

/** @throws Fault when nobody wrote down what the version changes */
export async function notes({ capture, version }) {
  const own = section(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version);
  if (own === undefined) throw new Fault(`CHANGELOG.md has no section ${version}`);
  const tag = `v${version}`;
  const before = await capture('git', ['describe', '--tags', '--abbrev=0', '--match=v*', `--exclude=${tag}`]).catch(
    () => undefined, // the first release: a list of all commits would tell nobody anything
  );
  if (before === undefined) return `${own}\n`;
  const commits = commitsIn(await capture('git', ['log', '--no-merges', GIT_FORMAT, `${before.trim()}..HEAD`]));
  return `${[own, listed(commits)].filter(Boolean).join('\n\n')}\n`;
}
