import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { problemOf, type FastifyRequest } from '@relay/http';
import { ProblemError } from '@relay/problem';
import type { FastifyInstance } from 'fastify';
import { catchError, type Observable } from 'rxjs';

/** Time for an answer in ms: every request is answered within 10 s, whatever the state of Kafka and Redis. */
const ANSWER_MS = 9_000;

/**
 * Answers 503 if there is no answer within ANSWER_MS. The work continues, and its answer is dropped. Must be called before
 * any other hook is added.
 */
export function limitAnswers(fastify: Pick<FastifyInstance, 'addHook'>): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    const timer = setTimeout(() => {
      // The head of a streamed file has already been sent.
      if (!reply.sent && !reply.raw.headersSent) reply.send(lateOf(request.method));
    }, ANSWER_MS);
    reply.raw.once('close', () => clearTimeout(timer));
    done();
  });
}

export const isChange = (method: string): boolean => method !== 'GET' && method !== 'HEAD';

/** Detail for a change whose result is unknown. */
const MAY_BE_MADE = 'The change may have been made, in full or in part: look before you repeat it.';

function lateOf(method: string): ProblemError {
  const late = `There was no answer within ${ANSWER_MS / 1_000} s: Kafka or Redis is down or slow.`;
  const cause = new Error('the time for an answer is over');
  if (!isChange(method)) return new ProblemError('unavailable', late, { headers: { 'retry-after': '5' }, cause });
  // The answer has no Retry-After, because the first change may still be running beside a repeat.
  return new ProblemError('unavailable', `${late} ${MAY_BE_MADE}`, { cause });
}

/** Adds to the answer that a change may be incomplete, if Redis went away during it. */
export class UnconfirmedInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (!isChange(context.switchToHttp().getRequest<FastifyRequest>().method)) return next.handle();
    return next.handle().pipe(
      catchError((thrown: unknown) => {
        const problem = problemOf(thrown);
        // A ProblemError states the result of the change itself.
        if (thrown instanceof ProblemError || problem.code !== 'unavailable') throw thrown;
        throw new ProblemError('unavailable', `${problem.detail} ${MAY_BE_MADE}`, problem.extra);
      }),
    );
  }
}
