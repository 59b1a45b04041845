import { spentHeaders, tellQuota, type FastifyReply, type SharedQuota } from '@relay/http';
import { notNow } from './oauth-error.js';

/**
 * Quotas of one client at the OAuth endpoints, over all processes. They count authenticated requests only, so no client
 * can use up the quota of another.
 */
export class ClientQuotas {
  constructor(
    private readonly tokens: SharedQuota,
    private readonly revocations: SharedQuota,
    private readonly introspections: SharedQuota,
  ) {}

  /** @throws OAuthError `temporarily_unavailable` with 429 */
  admitToken(clientId: string, reply: FastifyReply): Promise<void> {
    return admit(this.tokens, clientId, reply);
  }

  /** @throws OAuthError `temporarily_unavailable` with 429 */
  admitRevocation(clientId: string, reply: FastifyReply): Promise<void> {
    return admit(this.revocations, clientId, reply);
  }

  /** @throws OAuthError `temporarily_unavailable` with 429 */
  admitIntrospection(clientId: string, reply: FastifyReply): Promise<void> {
    return admit(this.introspections, clientId, reply);
  }
}

async function admit(shared: SharedQuota, clientId: string, reply: FastifyReply): Promise<void> {
  const { isSpent, remaining, resetS } = await shared.consume(clientId);
  if (isSpent) throw notNow(429, 'Too many requests of this client', spentHeaders(shared.quota, resetS));
  tellQuota(reply, shared.quota, remaining, resetS);
}
