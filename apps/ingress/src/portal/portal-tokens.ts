import type { AccessTokens, PortalLink, PortalLinks, RevokedTokens } from '@relay/access';
import { holderOf, isStillGranted } from '@relay/access';
import type { ClientDirectory, ClientRecord } from '@relay/identity';
import { ProblemError } from '@relay/problem';
import type { PortalTokenAnswer } from './portal-request.js';

/** Trades the codes of links for tokens, and ends tokens. */
export class PortalTokens {
  constructor(
    private readonly links: Pick<PortalLinks, 'take'>,
    private readonly directory: Pick<ClientDirectory, 'find' | 'findByToken'>,
    private readonly tokens: AccessTokens,
    private readonly revoked: Pick<RevokedTokens, 'revoke'>,
    private readonly now: () => number,
  ) {}

  /** @throws ProblemError `not-found` for a code that is unknown, used or expired, or whose maker's secret has ended; `unavailable` */
  async trade(code: string): Promise<Omit<PortalTokenAnswer, 'frames'>> {
    const link = await this.links.take(code);
    const partner = link === undefined ? undefined : await this.#partnerOf(link);
    const isGranted = link !== undefined && (await isStillGranted(link.grant, this.directory));
    if (!isGranted || partner === undefined)
      throw new ProblemError('not-found', 'The link was opened before, or it is too old: ask for a new one.');
    const { partnerId, grant, generation = partner.generation } = link;
    const ttlS = Math.min(link.ttlS, this.tokens.expiresInS);
    return {
      token: await this.tokens.issuePortal(partnerId, grant, generation, ttlS),
      expiresAt: new Date(this.now() + ttlS * 1_000).toISOString(),
      access: grant.access,
      webhookIds: grant.webhookIds ?? null,
      partnerId,
    };
  }

  /** A partner's link counts as long as a token does that the same secret got. */
  #partnerOf({ partnerId: clientId, generation }: PortalLink): Promise<ClientRecord | undefined> {
    return generation === undefined
      ? this.directory.find(clientId)
      : this.directory.findByToken({ clientId, generation });
  }

  /** Ends a token that a guard has let in. */
  async end(text: string): Promise<void> {
    const verification = await this.tokens.verify(text);
    if (verification.kind !== 'valid') return;
    const { token } = verification;
    const { jti, issuedAtS, expiresAtS: endsAtS } = token;
    await this.revoked.revoke({ clientId: holderOf(token), jti, issuedAtS, endsAtS });
  }
}
