import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { problemOf, type FastifyRequest } from '@relay/http';
import { ProblemError } from '@relay/problem';
import { catchError, type Observable } from 'rxjs';
import { isChange, MAY_BE_MADE } from './answer-limit.js';

/** Tells the operator that a change may be incomplete when Redis went away during it. */
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
