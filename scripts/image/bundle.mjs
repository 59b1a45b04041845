// node scripts/image/bundle.mjs FOLDER: the built apps with their packages in a few files, for the image. A role loads some 2,000 modules,
// and to find and link them takes half of its start. Nothing is minified: a stack trace names functions and, by the comment
// above them, modules. docs/adr/0029-the-image-has-its-modules-in-few-files.md has what else was tried.
import { cpSync, existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';

/** Packages that stay in node_modules. */
const OUTSIDE = [
  'kafkajs', // its modules are mended where they stand: docs/adr/0016-kafkajs-is-mended-where-it-stands.md
  '@bull-board/api', // it finds its pages as files beside itself
  '@bull-board/fastify',
  'aws-msk-iam-sasl-signer-js', // hundreds of modules for one way of logging in to Kafka
  'reflect-metadata',
];
/** Packages that Nest's packages load if they are installed. They are not. */
const ABSENT = [
  '@fastify/multipart',
  '@fastify/static',
  '@fastify/view',
  '@grpc/*',
  '@nats-io/*',
  '@nestjs/platform-express',
  '@nestjs/websockets',
  'amqp-connection-manager',
  'amqplib',
  'class-transformer',
  'class-validator',
  'mqtt',
];
/** Decorators need reflect-metadata before any class; packages in CommonJS need require. */
const HEAD = `import 'reflect-metadata';
import { createRequire as requireOf } from 'node:module';
const require = requireOf(import.meta.url);`;

const root = join(import.meta.dirname, '..', '..');
const target = process.argv[2];
const built = (...names) => join('dist', ...names);
const options = {
  absWorkingDir: root,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  keepNames: true, // Nest injects by classes, and logs name them
  external: [...OUTSIDE, ...ABSENT],
  // Its ESM, made for bundlers: of CommonJS that is imported late, esbuild finds no names.
  alias: { bullmq: 'bullmq/dist/esm/index.js' },
  banner: { js: HEAD },
  logLevel: 'warning',
  metafile: true,
};

const mains = readdirSync(join(root, built('apps')))
  .map((app) => join('apps', app, 'src', 'main'))
  .filter((main) => existsSync(join(root, built(`${main}.js`))));
const { metafile } = await build({
  ...options,
  entryPoints: mains.map((main) => ({ in: built(`${main}.js`), out: main })),
  outdir: target,
  chunkNames: 'apps/shared/src/[name]-[hash]', // as deep as the module that looks for dist/pages
  splitting: true, // each module is there once, and what is loaded late stays so
});
// Node finds the names of CommonJS by reading it; esbuild leaves them out.
for (const [file, { imports }] of Object.entries(metafile.inputs))
  for (const { path, kind } of imports)
    if (kind === 'dynamic-import' && file.startsWith('dist') && metafile.inputs[path]?.format === 'cjs')
      throw new Error(`${file} imports ${path} when it is needed, which is CommonJS: it would have no names`);
// The thread is started by the name of the file beside the module that starts it.
const starter = built('libs', 'record', 'search', 'sqlite-file.adapter.js');
for (const [file, { inputs }] of Object.entries(metafile.outputs))
  if (Object.hasOwn(inputs, starter))
    await build({
      ...options,
      entryPoints: [built('libs', 'record', 'search', 'sqlite-thread.js')],
      outdir: dirname(join(root, file)),
    });
cpSync(join(root, built('pages')), join(target, 'pages'), { recursive: true });
