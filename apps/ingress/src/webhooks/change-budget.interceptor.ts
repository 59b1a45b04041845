import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { Observable } from 'rxjs';
import type { FastifyReply } from '@relay/http';
import { ChangeBudget } from './change-budget.js';

/** Has the answer to a request tell what is left of the partner's changes, where one was charged. */
@Injectable()
export class ChangeBudgetInterceptor implements NestInterceptor {
  constructor(private readonly budget: ChangeBudget) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    return new Observable((subscriber) => this.budget.within(reply, () => next.handle().subscribe(subscriber)));
  }
}
