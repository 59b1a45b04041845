import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { problemOf, type FastifyRequest } from '@relay/http';
import { ProblemError } from '@relay/problem';
import { catchError, type Observable } from 'rxjs';
import { isChange, MAY_BE_MADE } from './answer-limit.js';

/** Of a change during which Redis went away nobody knows how far it came, and the operator is told so. */
export class UnconfirmedInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (!isChange(context.switchToHttp().getRequest<FastifyRequest>().method)) return next.handle();
    return next.handle().pipe(
      catchError((thrown: unknown) => {
        const problem = problemOf(thrown);
        // A ProblemError knows itself what became of the change.
        if (thrown instanceof ProblemError || problem.code !== 'unavailable') throw thrown;
        throw new ProblemError('unavailable', `${problem.detail} ${MAY_BE_MADE}`, problem.extra);
      }),
    );
  }
}
