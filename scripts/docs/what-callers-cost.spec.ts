import 'reflect-metadata';
import { existsSync, readFileSync } from 'node:fs';
import { routesOf } from '@relay/openapi';
import { CONTROLLERS } from '../../apps/operations/src/controllers.js';
import { configurationPage } from './configuration-page.js';

const CALLERS = ['nobody', 'a partner', 'a source', 'an endpoint', 'an operator'];
const RESOURCES = [
  'ingress memory',
  'ingress CPU',
  'Redis memory',
  'Redis time',
  'Kafka bytes',
  'worker slots',
  'third parties',
];

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const page = read('docs/security.md');
const section = page.split('\n## ').find((text) => text.startsWith('What one caller can cost\n')) ?? '';

/** The rows of the tables of the section, by how many columns they have. */
const rowsOf = (columns: number): string[][] =>
  section
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| --'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
    .filter((cells) => cells.length === columns)
    .slice(1);
const codeIn = (cell = ''): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

const groups = rowsOf(2).map(([name = '', named]) => ({ name, routes: codeIn(named) }));
const bounds = rowsOf(6).map(([caller = '', resources = '', by = '', , settings, tests = '']) => ({
  caller,
  resources: resources.split(', '),
  by: by.split(', '),
  settings: codeIn(settings),
  tests: [...tests.matchAll(/\]\(([^)]+)\)/g)].map(([, path = '']) => path),
}));

/** As the page writes them. Another spec holds this document against the controllers. */
const { paths } = JSON.parse(read('docs/openapi.json')) as { paths: Record<string, object> };
const routes = Object.entries(paths).flatMap(([path, operations]) =>
  Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
);
const operatorsRoutes = routesOf(CONTROLLERS).map(
  ({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`,
);

describe('docs/security.md, what one caller can cost', () => {
  it('names each route of the API in one group, and none that there is not', () => {
    const ours = groups.filter(({ name }) => name !== 'operations');
    expect(ours.flatMap((group) => group.routes).toSorted()).toEqual(routes.toSorted());
  });

  it('names each route of the operator’s API', () => {
    const theirs = groups.find(({ name }) => name === 'operations')?.routes ?? [];
    expect(theirs).toEqual(expect.arrayContaining(operatorsRoutes));
  });

  it('has a bound for each group of routes, and names no other', () => {
    const named = new Set(bounds.flatMap(({ by }) => by));
    expect(groups.map(({ name }) => name).filter((name) => !named.has(name))).toEqual([]);
    const known = new Set([...groups.map(({ name }) => name), 'connections', 'answers', 'the command line']);
    expect([...named].filter((name) => !known.has(name))).toEqual([]);
  });

  it('says of every caller what it can cost of every resource', () => {
    const said = new Set(
      bounds.flatMap(({ caller, resources }) => resources.map((resource) => `${caller}: ${resource}`)),
    );
    const wanted = CALLERS.flatMap((caller) => RESOURCES.map((resource) => `${caller}: ${resource}`));
    expect(wanted.filter((pair) => !said.has(pair))).toEqual([]);
    expect([...said].filter((pair) => !wanted.includes(pair))).toEqual([]);
  });

  it('names only settings that there are', () => {
    const rows = configurationPage();
    const named = bounds.flatMap(({ settings }) => settings);
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !rows.includes(`| \`${name}\` `))).toEqual([]);
  });

  it('names for each bound a test that there is', () => {
    expect(bounds.filter(({ tests }) => tests.length === 0)).toEqual([]);
    const files = bounds.flatMap(({ tests }) => tests);
    expect(files.filter((path) => !existsSync(new URL(`../../docs/${path}`, import.meta.url)))).toEqual([]);
  });
});
