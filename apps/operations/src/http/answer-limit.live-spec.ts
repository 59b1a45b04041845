import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { ProblemError } from '@relay/problem';
import { fastify } from 'fastify';
import { limitAnswers } from '../operations-app.js';

describe('the limit of 9 s', () => {
  const app = fastify();
  let url: string;
  beforeAll(async () => {
    limitAnswers(app);
    app.setErrorHandler((error, _request, reply) => {
      if (!(error instanceof ProblemError)) throw error;
      return reply
        .code(error.status)
        .headers(error.extra.headers ?? {})
        .send({ detail: error.detail });
    });
    app.get('/streamed', (_request, reply) => reply.send(Readable.from(slowly())));
    app.all('/never', () => new Promise(() => undefined));
    url = await app.listen({ port: 0, host: '127.0.0.1' });
  });
  afterAll(() => app.close());

  async function* slowly(): AsyncGenerator<string> {
    for (let second = 0; second < 11; second += 1) {
      yield `${second} `;
      await delay(1_000);
    }
  }

  it('lets an answer end that has begun, and answers what has not; a change is not told when to come again', async () => {
    const ask = (path: string, method: string): Promise<Response> => fetch(url + path, { method });
    const asked = [ask('/streamed', 'GET'), ask('/never', 'GET'), ask('/never', 'POST')] as const;
    const [streamed, look, change] = await Promise.all(asked);
    expect(await streamed.text()).toBe('0 1 2 3 4 5 6 7 8 9 10 ');
    expect([look.headers.get('retry-after'), change.headers.get('retry-after')]).toEqual(['5', null]);
    expect(await change.text()).toContain('The change may have been made');
  });
});
