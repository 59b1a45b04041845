import { linkToNext, type FastifyReply, type FastifyRequest } from './fastify-request.js';

function linkOf(url: string, next: string | undefined, options?: Parameters<typeof linkToNext>[3]): unknown {
  let link: unknown;
  const reply = { header: (_name: string, value: unknown) => void (link = value) } as unknown as FastifyReply;
  linkToNext({ url } as FastifyRequest, reply, next, options);
  return link;
}

describe('the link to the next page', () => {
  it('is the request with the place of the next page, behind the path that a proxy cuts off', () => {
    expect(linkOf('/replays?limit=2&cursor=a', 'b')).toBe('</replays?limit=2&cursor=b>; rel="next"');
    expect(linkOf('/audit', 'b', { name: 'before' })).toBe('</audit?before=b>; rel="next"');
    expect(linkOf('/replays', 'b', { publicUrl: 'https://relay.example/api/' })).toBe(
      '</api/replays?cursor=b>; rel="next"',
    );
    expect(linkOf('/replays', undefined)).toBeUndefined();
  });
});
