import { ProblemError } from '@relay/problem';
import type { FastifyInstance } from 'fastify';

/** Whoever asks is answered within 10 s, whatever has become of Kafka and Redis. */
const ANSWER_MS = 9_000;

/** To be called before any other hook: answers 503 what nobody else has answered by then. What runs goes on, and its answer is dropped. */
export function limitAnswers(fastify: Pick<FastifyInstance, 'addHook'>): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    const timer = setTimeout(() => {
      // A file that is being streamed has its head out already.
      if (!reply.sent && !reply.raw.headersSent) reply.send(lateOf(request.method));
    }, ANSWER_MS);
    reply.raw.once('close', () => clearTimeout(timer));
    done();
  });
}

export const isChange = (method: string): boolean => method !== 'GET' && method !== 'HEAD';

/** Where it is not known what became of a change. */
export const MAY_BE_MADE = 'The change may have been made, all of it or a part: look before you repeat it.';

function lateOf(method: string): ProblemError {
  const late = `There was no answer within ${ANSWER_MS / 1_000} s: Kafka or Redis is away or slow.`;
  const cause = new Error('the time for an answer is over');
  if (!isChange(method)) return new ProblemError('unavailable', late, { headers: { 'retry-after': '5' }, cause });
  // Not told when to come again: what goes on would be done beside itself.
  return new ProblemError('unavailable', `${late} ${MAY_BE_MADE}`, { cause });
}
