// The pages for people: each app that has src/main.tsx becomes files in dist/pages/APP with the hash of their content in their
// names, each beside its gzip, and an index.html that names them.
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { libs } from './libs.mjs';
import { root } from './paths.mjs';

const target = join(root, 'dist', 'pages');
const titles = { portal: 'Webhooks – Partner Relay', console: 'Console – Partner Relay' };
/** The folder of the files, relative to the address of the document. */
const places = { portal: 'portal/files/', console: 'files/' };

/** The apps of pages, in alphabetical order. */
export const pageApps = () =>
  readdirSync(join(root, 'apps')).filter((app) => existsSync(join(root, 'apps', app, 'src', 'main.tsx')));

/** The document of an app, which exists once the app is built. */
export const pageDocument = (app) => join(target, app, 'index.html');

/** Builds all pages anew. Resolves to the size of each file, in bytes: as it is, and packed. */
export async function buildPages() {
  const sizes = [];
  for (const app of pageApps()) sizes.push(...(await buildApp(app)));
  return sizes;
}

async function buildApp(app) {
  // Imported here, because the scripts that install packages load this file before there are any.
  const { build } = await import('esbuild');
  const source = (name) => join(root, 'apps', app, 'src', name);
  const { outputFiles, metafile } = await build({
    entryPoints: [source('main.tsx'), source('style.css'), source('icon.svg')],
    outdir: join(target, app),
    entryNames: '[name]-[hash]',
    loader: { '.svg': 'copy', '.md': 'text' },
    bundle: true,
    minify: true,
    // Leaves out the parts of the clients that need Node: no page uses them, and a browser refuses the import.
    external: ['node:*'],
    metafile: true,
    write: false,
    format: 'esm',
    target: ['es2023'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'warning',
    // The libs have no package.json; none of their files does something by being imported.
    plugins: [{ name: 'libs', setup: resolveLibs }],
  });
  const ofNode = Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path));
  if (ofNode.length > 0) throw new Error(`apps/${app} runs in a browser and needs ${ofNode.join(', ')}`);
  rmSync(join(target, app), { recursive: true, force: true });
  mkdirSync(join(target, app), { recursive: true });
  const sizes = outputFiles.map(({ path, contents }) => {
    const packed = gzipSync(contents, { level: 9 });
    writeFileSync(path, contents);
    writeFileSync(`${path}.gz`, packed);
    return { file: `${app}/${basename(path)}`, bytes: contents.length, packed: packed.length };
  });
  const named = (pattern) =>
    `${places[app]}${outputFiles.map(({ path }) => basename(path)).find((name) => pattern.test(name))}`;
  writeFileSync(pageDocument(app), documentOf(titles[app], named));
  return sizes;
}

function resolveLibs({ onResolve }) {
  onResolve({ filter: /^\.\/runbooks\.md$/ }, () => ({ path: join(root, 'docs', 'operations', 'runbooks.md') }));
  onResolve({ filter: /^@relay\// }, ({ path }) => ({
    path: libs.get(path),
    sideEffects: false,
  }));
  onResolve({ filter: /^\.{1,2}\/.*\.js$/ }, ({ path, resolveDir }) => {
    const found = ['.ts', '.tsx'].map((end) => join(resolveDir, path.replace(/\.js$/, end))).find(existsSync);
    return found === undefined ? undefined : { path: found, sideEffects: false };
  });
}

const documentOf = (title, named) => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>${title}</title>
    <link rel="icon" href="${named(/^icon-.*svg$/)}" />
    <link rel="stylesheet" href="${named(/^style-.*css$/)}" />
    <script type="module" src="${named(/^main-.*js$/)}"></script>
  </head>
  <body>
    <div id="app"></div>
    <noscript>This page needs JavaScript. Everything on it can be done by the API as well.</noscript>
  </body>
</html>
`;
