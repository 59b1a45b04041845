import type { AccessRule, BearerGuard, Caller, SourceGuard } from '@relay/access';
import { CallerFinder, type FastifyRequest } from '@relay/http';
import type { ClientAuthenticator } from '../oauth/client-authenticator.js';

/** Maps the rule of a route to the guard that enforces it. */
export class GuardCallerFinder extends CallerFinder {
  constructor(
    private readonly bearer: BearerGuard,
    private readonly source: SourceGuard,
    private readonly clients: ClientAuthenticator,
  ) {
    super();
  }

  callerOf(rule: AccessRule, request: FastifyRequest): Promise<Caller> | Caller | undefined {
    switch (rule.kind) {
      case 'public':
        return undefined;
      case 'client':
        return this.clients.authenticate(request);
      case 'source':
        return this.source.callerOf(request);
      case 'listing':
        // A token is optional here, but one that is sent must be valid.
        return request.headers.authorization === undefined ? undefined : this.bearer.callerOf(request, rule.scopes);
      case 'bearer':
        return this.bearer.callerOf(request, rule.scopes);
      case 'operator':
        throw new Error('The ingress has no routes of operators');
      default:
        return rule satisfies never;
    }
  }
}
