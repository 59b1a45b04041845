import { KnownRoutes, loggedPathOf, pathOf } from './problem.filter.js';

describe('the methods of a path', () => {
  const routes = new KnownRoutes();
  routes.add('/deliveries', ['POST']);
  routes.add('/deliveries/batch', ['POST']);
  routes.add('/deliveries/:envelopeId', ['HEAD', 'GET']);
  routes.add('/deliveries/:envelopeId/retry', ['POST']);
  routes.add('/.well-known/keys', ['GET']);

  it.each([
    ['/deliveries', ['POST']],
    ['/deliveries/one', ['GET', 'HEAD']],
    ['/deliveries/batch', ['POST']],
    ['/deliveries/batch/retry', ['POST']],
    ['/.well-known/keys', ['GET']],
    ['/xwell-known/keys', []],
    ['/deliveries/', []],
    ['/deliveries/one/two', []],
  ])('%s are %j', (path, methods) => {
    expect(routes.methodsOf(path)).toEqual(methods);
  });
});

describe('the path that a log line shows', () => {
  it.each([
    ['/auth/session/aSecret', '/auth/session/…'],
    ['/auth/session/aSecret/and?more=1', '/auth/session/…'],
    ['//auth//Session/aSecret', '//auth//Session/…'],
    ['/auth/9d8c7b6a-5f4e-4d3c-8b2a-190817263544/session', '/auth/9d8c7b6a-5f4e-4d3c-8b2a-190817263544/session'],
    ['/webhooks/1?apiKey=aSecret', '/webhooks/1'],
  ])('for %s is %s', (url, shown) => {
    expect(loggedPathOf(pathOf(url))).toBe(shown);
  });
});
