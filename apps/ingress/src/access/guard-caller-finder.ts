import type { AccessRule, BearerGuard, Caller, SourceGuard } from '@relay/access';
import { CallerFinder, type FastifyRequest } from '@relay/http';
import { isShown } from '../portal/shown.js';
import { notFound } from '../webhooks/webhook-problems.js';
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
        return this.#bearerOf(rule.scopes, request);
      case 'operator':
        throw new Error('The ingress has no routes of operators');
      default:
        return rule satisfies never;
    }
  }

  /** A webhook that is not shown to the holder of a portal token is answered like one that does not exist. */
  async #bearerOf(scopes: readonly string[], request: FastifyRequest): Promise<Caller> {
    const { url = '', config } = request.routeOptions;
    const caller = await this.bearer.callerOf(request, scopes, config.portal);
    const { id } = request.params as { readonly id?: string };
    if (url.startsWith('/webhooks/:id') && !isShown(caller, id ?? '')) throw notFound();
    return caller;
  }
}
