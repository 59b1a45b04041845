import { execFileSync } from 'node:child_process';
import { curlOf, quoted, requestOf } from './request.js';

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
