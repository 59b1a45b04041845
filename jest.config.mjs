import { clientApi } from './scripts/lib/client-api.mjs';
import { libs } from './scripts/lib/libs.mjs';

// Specs import the generated files of libs/clients/client.
await clientApi();

const transform = (tsx) => [
  '@swc/jest',
  {
    swcrc: false,
    sourceMaps: true,
    module: { type: 'es6' },
    jsc: {
      target: 'es2023',
      parser: { syntax: 'typescript', decorators: true, tsx },
      transform: {
        legacyDecorator: true,
        decoratorMetadata: true,
        react: { runtime: 'automatic', importSource: 'preact' },
      },
      keepClassNames: true,
    },
  },
];

// Six projects over one transform: `unit` is what needs nothing running, `live` starts servers of its own (redis-server,
// a Nest app, HTTP endpoints), `model` plays thousands of histories over what is in memory, `e2e` uses the real Kafka and
// Redis that scripts/test.mjs starts, `abuse` attacks a relay with servers of its own (`npm run test:abuse` does it in full),
// `cluster` needs three brokers and the machine for itself: `npm run test:cluster`.
const shared = {
  testEnvironment: 'node',
  setupFiles: ['<rootDir>/scripts/property-seed.mjs'],
  extensionsToTreatAsEsm: ['.ts', '.tsx'],
  transform: { '^.+\\.ts$': transform(false), '^.+\\.tsx$': transform(true) },
  moduleNameMapper: {
    // Its CommonJS form is loaded once for each process: scripts/lib/compile-cache.cjs.
    '^zod$': '<rootDir>/node_modules/zod/index.cjs',
    ...Object.fromEntries([...libs].map(([name, path]) => [`^${name}$`, path])),
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
};

export default {
  coverageProvider: 'v8',
  testSequencer: '<rootDir>/scripts/longest-first.mjs',
  // A test that fails can leave a server or connection behind: the run still ends and says so.
  forceExit: true,
  // Jest's own 5 s say nothing here but how busy the machine is; what must not take long is waited for with a bound of its own.
  testTimeout: 900_000,
  projects: [
    {
      ...shared,
      displayName: 'unit',
      roots: [
        '<rootDir>/apps',
        '<rootDir>/lab',
        '<rootDir>/libs',
        '<rootDir>/scripts',
        '<rootDir>/test/faults',
        '<rootDir>/test/support',
      ],
      testRegex: '(?<!\\.property)\\.spec\\.tsx?$',
    },
    {
      ...shared,
      displayName: 'live',
      roots: ['apps', 'libs', 'scripts', 'test/documents', 'test/support'].map((folder) => `<rootDir>/${folder}`),
      testRegex: '\\.live-spec\\.ts$',
    },
    {
      ...shared,
      displayName: 'model',
      roots: ['<rootDir>/libs', '<rootDir>/test'],
      testRegex: '\\.(?:model-|property\\.)spec\\.ts$',
    },
    { ...shared, displayName: 'e2e', roots: ['<rootDir>/test'], testRegex: '\\.e2e-spec\\.ts$' },
    { ...shared, displayName: 'abuse', roots: ['<rootDir>/test/abuse'], testRegex: '\\.abuse-spec\\.ts$' },
    { ...shared, displayName: 'cluster', roots: ['<rootDir>/test/cluster'], testRegex: '\\.cluster-spec\\.ts$' },
  ],
};
