import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { Observable } from 'rxjs';
import type { FastifyReply } from '@relay/http';
import { ChangeBudget } from './change-budget.js';

/** Adds the rest of the partner's budget of changes to an answer whose request was charged. */
@Injectable()
export class ChangeBudgetInterceptor implements NestInterceptor {
  constructor(private readonly budget: ChangeBudget) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    return new Observable((subscriber) => this.budget.within(reply, () => next.handle().subscribe(subscriber)));
  }
}
