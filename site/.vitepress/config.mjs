// The site of docs/. Its pages stay readable on a forge: tabs, links and anchors are written as a forge reads them, and
// are changed here. The build fails for a dead link, and for a page that no door leads to.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { defineConfig } from 'vitepress';

const docs = join(import.meta.dirname, '..', '..', 'docs');
const read = (page) => readFileSync(join(docs, page), 'utf8');
/** A page with the file that it includes, from its third line on. */
const textOf = (page) =>
  read(page).replace(/<!--@include: (\S+)\{3,\}-->/, (_, path) =>
    read(join(dirname(page), path))
      .split('\n')
      .slice(2)
      .join('\n'),
  );
const titleOf = (page) => /^# (.+)$/m.exec(read(page))[1];
/** The first paragraph of the first page. */
const SUMMARY = /\n\n([^]+?)\n\n/.exec(read('README.md'))[1].replaceAll('\n', ' ');

/** Address of the repository, for links to files outside docs/; without it these links are plain text. */
const { REPOSITORY_URL: repository, SITE_BASE: base = '/' } = process.env;

const inFolder = (folder, names) => names.map((name) => `${folder}/${name}.md`);
const filesOf = (folder) => readdirSync(join(docs, folder)).filter((name) => /^[a-z\d].*\.md$/.test(name));
/** The four doors: what each is for, its first page, and its pages in their groups. */
const doors = {
  Try: {
    details: 'From a clone to a delivered event of your own in 15 minutes.',
    groups: { Try: ['tutorial.md', 'portal.md', 'operations/console.md', 'compare.md', 'coming-from.md'] },
  },
  Integrate: {
    details: 'Send events, receive them, verify them, and see what became of each.',
    groups: {
      Integrate: inFolder('integrate', ['first-webhook', 'send', 'verify', 'answers', 'event-types', 'listen']),
      'Day by day': inFolder('integrate', ['webhooks', 'deliveries', 'after-an-outage', 'replay', 'notices']),
      More: ['integrate/kafka.md', 'integrate/client.md', 'errors.md'],
    },
  },
  Operate: {
    details: 'Install, configure, size, secure, watch and recover the relay.',
    groups: {
      Operate: ['operations.md', 'operations/install.md', 'configuration.md', 'scaling.md', 'operations/upgrade.md'],
      'Day by day': inFolder('operations', ['commands', 'metrics', 'log-events', 'runbooks', 'recovery']),
      Events: inFolder('operations', ['missing-event', 'event-types', 'produce', 'outbox', 'connect']),
      Security: ['security.md', 'personal-data.md'],
    },
  },
  Understand: {
    details: 'The promise and its limits, the terms, the design and the evidence.',
    groups: {
      Understand: ['promise.md', 'contract.md', 'glossary.md', 'architecture.md'],
      Evidence: [
        'evidence/README.md',
        ...inFolder(
          'evidence',
          filesOf('evidence').map((name) => name.slice(0, -3)),
        ),
      ],
      Decisions: inFolder(
        'adr',
        filesOf('adr').map((name) => name.slice(0, -3)),
      ),
    },
  },
};
const pagesOf = (door) => Object.values(doors[door].groups).flat();
/** Documents for programs, beside the pages. */
const documents = ['openapi.json', 'asyncapi.json', 'operations.openapi.json'];

const isOptional = (page) => /^(?:adr|evidence)\//.test(page);

const routeOf = (page) => `/${page.replace(/README\.md$/, '').replace(/\.md$/, '')}`;
const linksTo = (pages) => pages.map((page) => ({ text: titleOf(page), link: routeOf(page) }));
/** A door with the pages of its first group, and the other groups below them. */
const sidebar = Object.entries(doors).map(([text, { groups }]) => {
  const [[, own], ...others] = Object.entries(groups);
  const below = others.map(([name, pages]) => ({ text: name, collapsed: name === 'Decisions', items: linksTo(pages) }));
  return { text, collapsed: true, items: [...linksTo(own), ...below] };
});

/** The words of a text, and those with hyphens as a whole too, such as `Retry-After`. The browser has this function alone. */
const tokenize = (text) => [
  ...text.split(/[\n\r\p{Z}\p{P}]+/u),
  ...(text.match(/[\p{L}\p{N}]+(?:-[\p{L}\p{N}]+)+/gu) ?? []),
];

/** The anchor that a forge gives a heading. */
const slugify = (heading) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');

function markdown(md) {
  // On a forge the samples between these comments stand below each other.
  md.core.ruler.after('normalize', 'tabs', (state) => {
    // The head of the first page shows its title and its first paragraph already.
    if (state.env.relativePath === 'index.md') state.src = state.src.replace(/^# .+\n\n[^]+?\n\n/, '');
    state.src = state.src.replaceAll('<!-- tabs -->', '::: code-group').replaceAll('<!-- /tabs -->', ':::');
  });
  md.core.ruler.push('links', ({ tokens, env }) => {
    let isText = false;
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      if (token.type === 'link_close' && isText) [token.tag, isText] = ['span', false];
      const href = token.type === 'link_open' ? token.attrGet('href') : null;
      if (href === null || /^(?:[a-z]+:|#|\/)/.test(href)) continue;
      const target = posix.join('docs', dirname(env.relativePath), href);
      if (target.startsWith('docs/')) token.attrSet('href', href.replace(/README\.md(?=#|$)/, 'index.md'));
      else if (repository !== undefined) token.attrSet('href', `${repository}/blob/main/${target}`);
      else [token.tag, token.attrs, isText] = ['span', null, true];
    }
  });
}

/** Writes llms.txt, llms-full.txt, the pages as Markdown, and the documents for programs. */
function buildEnd({ outDir, pages }) {
  const listed = Object.keys(doors).flatMap(pagesOf);
  const lost = pages.filter((page) => page !== 'README.md' && !listed.includes(page));
  if (lost.length > 0) throw new Error(`no door leads to ${lost.join(', ')}`);
  for (const name of [...documents, ...pages]) {
    mkdirSync(dirname(join(outDir, name)), { recursive: true });
    writeFileSync(join(outDir, name), textOf(name));
  }
  const lines = (taken) => taken.map((page) => `- [${titleOf(page)}](${base}${page})\n`).join('');
  const sections = Object.keys(doors).map((door) => {
    const taken = pagesOf(door).filter((page) => !isOptional(page));
    return `## ${door}\n\n${doors[door].details}\n\n${lines(taken)}`;
  });
  const optional = `## Optional\n\n${lines(listed.filter(isOptional))}`;
  const programs = `## For programs\n\n${documents.map((name) => `- [${name}](${base}${name})\n`).join('')}`;
  writeFileSync(
    join(outDir, 'llms.txt'),
    [`# Partner Relay\n\n> ${SUMMARY}\n`, ...sections, programs, optional].join('\n'),
  );
  const full = listed.filter((page) => !isOptional(page)).map((page) => `<!-- ${base}${page} -->\n\n${textOf(page)}`);
  writeFileSync(join(outDir, 'llms-full.txt'), [`# Partner Relay\n\n${SUMMARY}\n`, ...full].join('\n'));
}

/** A page of docs/ becomes code that imports Vue, which no folder above docs/ has. */
const vueOfTheSite = {
  name: 'vue-of-the-site',
  enforce: 'pre',
  resolveId(id, importer) {
    const isOurs = importer?.startsWith(docs) && /^vue(?:\/|$)/.test(id);
    return isOurs ? this.resolve(id, import.meta.filename, { skipSelf: true }) : undefined;
  },
};

export default defineConfig({
  title: 'Partner Relay',
  description: SUMMARY,
  lang: 'en',
  base,
  srcDir: docs,
  outDir: join(import.meta.dirname, '..', 'dist'),
  cacheDir: join(import.meta.dirname, '..', 'node_modules', '.vitepress'),
  cleanUrls: true,
  vite: { plugins: [vueOfTheSite] },
  rewrites: (page) => page.replace(/README\.md$/, 'index.md'),
  markdown: { anchor: { slugify }, config: markdown },
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  transformPageData({ relativePath, frontmatter }) {
    // Wide tables take the place of the outline.
    if (['compare.md', 'coming-from.md'].includes(relativePath)) frontmatter.aside = false;
    if (relativePath !== 'index.md') return;
    const features = Object.entries(doors).map(([title, { details }]) => ({
      title,
      details,
      link: routeOf(pagesOf(title)[0]),
    }));
    Object.assign(frontmatter, { layout: 'home', hero: { name: 'Partner Relay', tagline: SUMMARY }, features });
  },
  themeConfig: {
    nav: Object.keys(doors).map((text) => ({ text, link: routeOf(pagesOf(text)[0]) })),
    sidebar,
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        // Evidence and decisions are for those who come to read them.
        _render: (text, env, md) => (isOptional(env.relativePath) ? '' : md.render(text, env)),
        miniSearch: {
          options: { tokenize },
          searchOptions: { combineWith: 'AND', boost: { title: 2, text: 2, titles: 1 } },
        },
      },
    },
    ...(repository && { socialLinks: [{ icon: 'github', link: repository }] }),
  },
  buildEnd,
});
