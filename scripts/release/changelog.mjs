// What a release says of itself: the section of CHANGELOG.md, written by hand, and the commits since the release before.
const GROUPS = { breaking: 'Breaking changes', feat: 'Features', fix: 'Fixes', perf: 'Performance' };
/** https://www.conventionalcommits.org: type, scope, sign of a breaking change, subject. */
const COMMIT = /^(\w+)(?:\(([^)]+)\))?(!)?: (.+)$/;

/** The text of a version's section, or undefined: `## 1.2.3`, with a date or in brackets. */
export function section(changelog, version) {
  const [, ...sections] = changelog.split(/^## /m);
  const own = sections.find((text) => text.split(/[\s\]]/, 1)[0].replace('[', '') === version);
  return own?.slice(own.indexOf('\n')).trim();
}

/** Commits as a list in groups; '' where none of them changes anything for users. */
export function listed(commits) {
  const lines = Object.fromEntries(Object.keys(GROUPS).map((group) => [group, []]));
  for (const { hash, subject, body } of commits) {
    const [, type, scope, sign, what] = COMMIT.exec(subject) ?? [];
    const isBreaking = sign === '!' || /^BREAKING[ -]CHANGE: /m.test(body);
    const group = isBreaking ? 'breaking' : type;
    if (what && Object.hasOwn(lines, group))
      lines[group].push(`- ${scope ? `**${scope}:** ` : ''}${what} (${hash.slice(0, 7)})`);
  }
  return Object.entries(GROUPS)
    .filter(([group]) => lines[group].length > 0)
    .map(([group, title]) => `### ${title}\n\n${lines[group].join('\n')}`)
    .join('\n\n');
}

/** The entries of a section as Artifact Hub's annotation lists them. */
export const entries = (text) =>
  text
    .split(/^- /m)
    .slice(1)
    .map((entry) => entry.split(/\n\n/, 1)[0].replaceAll(/\s+/g, ' ').trim());

export const GIT_FORMAT = '--format=%H%x1f%s%x1f%b%x1e';
/** What `git log` prints in that format. */
export const commitsIn = (printed) =>
  printed
    .split('\u001E')
    .map((record) => record.trim().split('\u001F'))
    .filter(([hash]) => hash)
    .map(([hash, subject, body = '']) => ({ hash, subject, body }));
