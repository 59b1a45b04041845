import { Injectable, type ExecutionContext } from '@nestjs/common';
import { BearerGuard, type GuardedRequest } from '@relay/access';

/** A listing may come without a token; one that is sent must be valid. Without one there is no `request.caller`. */
@Injectable()
export class ListingGuard extends BearerGuard {
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const { headers } = context.switchToHttp().getRequest<GuardedRequest>();
    return headers['authorization'] === undefined || super.canActivate(context);
  }
}
