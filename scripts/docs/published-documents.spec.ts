import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { RELAY_VERSION } from '@relay/config';
import { routesOf } from '@relay/openapi';
import { CONTROLLERS } from '../../apps/operations/src/controllers.js';
import { controllersOf, FEATURES } from '../../apps/ingress/src/ingress.module.js';
import { publishedDocuments } from './published-documents.js';

const inDocs = (name: string): string => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');

describe.each(Object.entries(publishedDocuments()))('docs/%s', (name, document) => {
  it('is what the code says (write it anew with `npx node scripts/docs.mjs`)', () => {
    expect(inDocs(name)).toBe(document);
  });

  it('names the version of package.json', () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
      version: string;
    };
    expect(RELAY_VERSION).toBe(version);
    expect(JSON.parse(document)).toMatchObject({ info: { version } });
  });
});

describe('every route', () => {
  const apis = { ingress: routesOf(controllersOf(FEATURES)), operations: routesOf(CONTROLLERS) };
  const routes = Object.values(apis).flat();

  it.each(routes)('$method $path is documented', ({ text, path, method }) => {
    expect(text).toBeDefined();
    const named = [...path.matchAll(/:(\w+)/g)].map(([, parameter]) => parameter);
    expect(Object.keys(text?.path ?? {})).toEqual(named);
    expect(method).toMatch(/^(GET|POST|PUT|PATCH|DELETE)$/);
  });

  it('has a role of its own in the operations app, and no other way in but that of a session', () => {
    expect(apis.operations.length).toBeGreaterThan(25);
    const open = apis.operations.filter(({ access }) => access !== 'operator');
    expect(open.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /session/links',
      'GET /',
      'GET /files/:name',
      'POST /session',
      'POST /session/code',
      'DELETE /session',
    ]);
    // Only looks are for viewers, and only these for admins.
    const ADMINS = /^(?:(?:POST|PATCH) \/clients|POST \/notices|DELETE \/webhooks|(?:PUT|POST|DELETE) \/event-types)/;
    const wrong = apis.operations.filter(
      ({ method, path, scopes: [scope] }) =>
        (scope === 'operations:read' && method !== 'GET') ||
        (scope === 'operations') !== ADMINS.test(`${method} ${path}`),
    );
    expect(wrong).toEqual([]);
  });

  it('has a name of its own', () => {
    for (const each of Object.values(apis)) {
      const ids = each.map(({ text }) => text?.id);
      expect(new Set(ids).size).toBe(ids.length);
    }
  });
});
