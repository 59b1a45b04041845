import { execFileSync } from 'node:child_process';
import { curlOf, quoted, Refused, requestOf, waitOf } from './request.js';

const BASE = new URL('https://relay.example/below/');

describe('the request of an operation', () => {
  it('has its path, query and body, below the address of the API', () => {
    const parts = { path: { id: 'a/b' }, query: { limit: 5, since: undefined, q: 'x y' }, body: { a: 1 } };
    const { method, url, headers, body } = requestOf(BASE, ['POST', '/webhooks/{id}/test'], parts);
    expect([method, url.href, headers, body]).toEqual([
      'POST',
      'https://relay.example/below/webhooks/a%2Fb/test?limit=5&q=x+y',
      { 'content-type': 'application/json' },
      '{"a":1}',
    ]);
  });

  it.each([undefined, '', '.', '..'])('needs every part of its path: not %j', (id) => {
    expect(() => requestOf(BASE, ['GET', '/webhooks/{id}'], { path: { id } })).toThrow('path.id is missing');
  });
});

describe('the line of curl', () => {
  it('has all of the request but the credential', () => {
    const line = requestOf(BASE, ['PATCH', '/webhooks/{id}'], {
      path: { id: '1' },
      headers: { 'if-match': '"3"' },
      body: { endPointName: "Bob's" },
    });
    expect(curlOf(line, '-H "Authorization: Bearer $TOKEN"')).toBe(
      String.raw`curl -sS -X PATCH 'https://relay.example/below/webhooks/1' -H "Authorization: Bearer $TOKEN" ` +
        String.raw`-H 'content-type: application/json' -H 'if-match: "3"' -d '{"endPointName":"Bob'\''s"}'`,
    );
  });

  it.each(['it\'s $HOME `id` \\ "q" !', 'line\nbreak', ''])('keeps %j whole in a shell', (text) => {
    expect(execFileSync('sh', ['-c', `printf %s ${quoted(text)}`]).toString()).toBe(text);
  });
});

it.each([
  ['no answer', new Refused(0, {}, undefined), 5_000],
  ['a store that is away', new Refused(503, {}, 2), 2_000],
  ['a proxy without a relay behind it', new Refused(502, {}, undefined), 5_000],
  ['too many requests', new Refused(429, {}, 30), 30_000],
  ['a wait that no timer of a browser has', new Refused(429, {}, 2_592_000), 3_600_000],
  ['a wait of no time', new Refused(503, {}, 0), 1_000],
  ['what is not there', new Refused(404, {}, undefined), undefined],
  ['a session that has ended', new Refused(401, {}, 2), undefined],
  ['a fault of the page', new TypeError('x is undefined'), undefined],
  ['no fault', undefined, undefined],
])('after %s a page asks again in this time', (_what, error, ms) => {
  expect(waitOf(error)).toBe(ms);
});
