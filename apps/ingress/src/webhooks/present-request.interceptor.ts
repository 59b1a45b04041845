import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { Observable } from 'rxjs';
import type { FastifyReply } from '@relay/http';
import { PresentRequest } from './present-request.js';

/** Lets the registrations know the request that changes them: whom they charge, and whom the audit names. */
@Injectable()
export class PresentRequestInterceptor implements NestInterceptor {
  constructor(private readonly present: PresentRequest) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    return new Observable((subscriber) => this.present.within(reply, () => next.handle().subscribe(subscriber)));
  }
}
