import { randomBytes } from 'node:crypto';
import {
  Controller,
  Delete,
  Get,
  Header,
  HttpCode,
  Inject,
  Injectable,
  Module,
  Param,
  Post,
  Req,
  Res,
  UseInterceptors,
  type OnModuleInit,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import {
  AccessTokens,
  clientBehind,
  isStillGranted,
  PortalLinkAnswer,
  portalLinkOf,
  PortalLinkRequest,
  PortalLinks,
  PortalSessions,
  portalUrl,
  readBearer,
  RevokedTokens,
  type PortalHandle,
  type PortalLink,
  type VerifiedToken,
} from '@relay/access';
import {
  Access,
  callerIdOf,
  callerOf,
  Portal,
  RateLimitInterceptor,
  SharedQuota,
  StrictBody,
  TakesBody,
  type Body,
  type FastifyReply,
  type FastifyRequest,
} from '@relay/http';
import { ClientDirectory, type ClientRecord } from '@relay/identity';
import { Keyring } from '@relay/keyring';
import { Operation } from '@relay/openapi';
import { Page, type Served } from '@relay/pages';
import { ProblemError } from '@relay/problem';
import { Shards } from '@relay/redis';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { ThrottledLog } from '@relay/telemetry';
import { Redis } from 'ioredis';
import { Exchange, PartnerAudit } from '../access/partner-routes.js';
import { built } from '../platform.module.js';
import { operations, PortalRenewal, PortalTrade, type PortalTokenAnswer } from './portal.openapi.js';

/** Exchanges the codes of links and the handles of sessions for tokens, and revokes tokens. */
@Injectable()
class PortalTokens {
  constructor(
    private readonly links: PortalLinks,
    private readonly sessions: PortalSessions,
    private readonly directory: ClientDirectory,
    private readonly tokens: AccessTokens,
    @Inject(INGRESS_CONFIG) private readonly config: IngressConfig,
  ) {}

  /**
   * Exchanges the code of a link for a token.
   * @throws ProblemError `not-found` if the code is unknown, used or expired, or the secret of the client that made the link
   * has ended; `unavailable`
   */
  async trade(code: string): Promise<PortalTokenAnswer> {
    const link = await this.links.take(code);
    const partner = link === undefined ? undefined : await this.#partnerOf(link);
    const isGranted = link !== undefined && (await isStillGranted(link.grant, this.directory));
    if (!isGranted || partner === undefined)
      throw new ProblemError('not-found', 'The link was opened before, or it is too old: ask for a new one.');
    const { partnerId, grant, generation = partner.generation } = link;
    const token = this.tokens.portalToken(partnerId, grant, generation, Math.min(link.ttlS, this.tokens.expiresInS));
    // The code is used up, so the page gets the token even if Redis stores no session now.
    const handle = this.config.PORTAL_KEEP_SESSION ? await this.sessions.open(token).catch(() => undefined) : undefined;
    return this.#answer(token, handle);
  }

  /**
   * Returns a handle that the relay has issued.
   * @throws ProblemError `not-found`
   */
  handleIn(text: string): PortalHandle {
    const handle = this.config.PORTAL_KEEP_SESSION ? this.sessions.read(text) : undefined;
    if (handle === undefined) throw sessionEnded();
    return handle;
  }

  /** Renews a session while its token still counts. @throws ProblemError `not-found` if it has ended; `unavailable` */
  async renew(presented: PortalHandle): Promise<PortalTokenAnswer> {
    const renewed = await this.sessions.renew(presented);
    if (renewed === undefined) throw sessionEnded();
    const { token, handle } = renewed;
    const client = this.tokens.isRevoked(token) ? undefined : await clientBehind(token, this.directory);
    if (client === undefined) throw sessionEnded();
    return this.#answer(token, handle);
  }

  async #answer(token: VerifiedToken, handle: string | undefined): Promise<PortalTokenAnswer> {
    const { clientId: partnerId, expiresAtS, portal } = token;
    return {
      token: await this.tokens.sign(token),
      expiresAt: new Date(expiresAtS * 1_000).toISOString(),
      access: portal?.access ?? 'read',
      webhookIds: portal?.webhookIds ?? null,
      partnerId,
      frames: this.config.PORTAL_FRAMES,
      ...(handle === undefined ? {} : { handle }),
    };
  }

  /**
   * Returns the partner of a link; undefined if the link is no longer valid. A link that a partner made ends with the secret
   * by which it was made.
   */
  #partnerOf({ partnerId: clientId, generation }: PortalLink): Promise<ClientRecord | undefined> {
    return generation === undefined
      ? this.directory.find(clientId)
      : this.directory.findByToken({ clientId, generation });
  }

  /** Ends the session of a token that a guard has already admitted. */
  async end(text: string): Promise<void> {
    const verification = await this.tokens.verify(text);
    if (verification.kind === 'valid') await this.sessions.end(verification.token);
  }
}

const sessionEnded = (): ProblemError =>
  new ProblemError('not-found', 'The session has ended: open the portal by a new link.');

/** Maximum number of links that one partner may make in a minute, counted over all processes. */
const LINKS_A_MINUTE = 300;
/** Maximum number of renewals of one session in a minute, counted over all processes. */
const RENEWALS_A_MINUTE = 60;

/** Routes that make portal links, exchange their codes for tokens, and revoke portal tokens. */
@Controller('portal')
@Access({ kind: 'bearer', scopes: ['webhooks'] })
class PortalController {
  readonly #quota: SharedQuota;
  readonly #renewals: SharedQuota;

  constructor(
    { global }: Shards,
    private readonly links: PortalLinks,
    private readonly tokens: PortalTokens,
    private readonly audit: PartnerAudit,
    @Inject(INGRESS_CONFIG) private readonly config: IngressConfig,
  ) {
    this.#quota = new SharedQuota(global, { name: 'portal-links', points: LINKS_A_MINUTE, windowMs: 60_000 });
    this.#renewals = new SharedQuota(global, { name: 'portal-renewals', points: RENEWALS_A_MINUTE, windowMs: 60_000 });
  }

  @Post('links')
  @UseInterceptors(RateLimitInterceptor)
  @Operation(operations.createPortalLink)
  async link(
    @StrictBody(PortalLinkRequest, 'optional') body: Body<PortalLinkRequest>,
    @Exchange() { request, reply }: Exchange,
  ): Promise<PortalLinkAnswer> {
    const partnerId = callerIdOf(request);
    await this.#quota.admit(partnerId, reply, 'You have made too many links: wait.');
    const wanted = body();
    const { access, webhookIds } = wanted;
    this.audit.tellLink(request, { access, webhookIds });
    const expiresAt = new Date(Date.now() + this.config.PORTAL_LINK_TTL).toISOString();
    const code = await this.links.create(portalLinkOf(partnerId, wanted, callerOf(request)));
    return { url: portalUrl(this.config.PUBLIC_URL, code, wanted.next), expiresAt };
  }

  @Post('tokens')
  @HttpCode(200)
  @Header('pragma', 'no-cache') // RFC 6749 section 5.1
  @Access({ kind: 'public' })
  @TakesBody({ maxBytes: 1_024 })
  @Operation(operations.tradePortalCode)
  async trade(@StrictBody(PortalTrade) body: Body<PortalTrade>): Promise<PortalTokenAnswer> {
    return this.tokens.trade(body().code);
  }

  @Post('tokens/renew')
  @HttpCode(200)
  @Header('pragma', 'no-cache')
  @Access({ kind: 'public' })
  @TakesBody({ maxBytes: 1_024 })
  @Operation(operations.renewPortalToken)
  async renew(
    @StrictBody(PortalRenewal) body: Body<PortalRenewal>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PortalTokenAnswer> {
    const handle = this.tokens.handleIn(body().handle);
    await this.#renewals.admit(handle.sessionId, reply, 'The page was loaded too often: wait.');
    return this.tokens.renew(handle);
  }

  @Delete('tokens')
  @HttpCode(204)
  @Portal('read')
  @UseInterceptors(RateLimitInterceptor)
  @Operation(operations.endPortalToken)
  async leave(@Req() request: FastifyRequest): Promise<void> {
    await this.tokens.end(readBearer(request.headers.authorization) ?? '');
  }
}

@Controller('portal')
@Access({ kind: 'public' })
class PortalPageController {
  readonly #page: Page;

  constructor(@Inject(INGRESS_CONFIG) { PORTAL_FRAMES, PORTAL_THEME }: IngressConfig) {
    this.#page = new Page('portal', PORTAL_FRAMES, PORTAL_THEME);
  }

  @Get()
  @Operation(operations.readPortal)
  async document(@Res({ passthrough: true }) reply: FastifyReply): Promise<Buffer> {
    return sent(await this.#page.document(), reply);
  }

  @Get('files/:name')
  @Operation(operations.readPortalFile)
  async file(@Param('name') name: string, @Exchange() { request, reply }: Exchange): Promise<Buffer> {
    return sent(await this.#page.file(name, String(request.headers['accept-encoding'])), reply);
  }
}

function sent(served: Served | undefined, reply: FastifyReply): Buffer {
  if (served === undefined) throw new ProblemError('not-found', 'There is no such file.');
  void reply.headers(served.headers);
  return served.bytes;
}

@Module({
  controllers: [PortalController, PortalPageController],
  providers: [
    {
      provide: PortalLinks,
      useFactory: ({ global }: Shards, { PORTAL_LINK_TTL }: IngressConfig) =>
        new PortalLinks(global, randomBytes, PORTAL_LINK_TTL),
      inject: [Shards, INGRESS_CONFIG],
    },
    built(PortalSessions, Redis, Keyring, RevokedTokens, ThrottledLog),
    PortalTokens,
  ],
})
export class PortalModule implements OnModuleInit {
  constructor(private readonly host: HttpAdapterHost<FastifyAdapter>) {}

  // Registers this route with Fastify, because Nest's router drops the slash at the end of a path. The browser keeps the
  // fragment when it follows the redirect.
  onModuleInit(): void {
    this.host.httpAdapter.getInstance().route({
      method: 'GET',
      url: '/portal/',
      config: { access: { kind: 'public' } },
      handler: (_request, reply) => reply.redirect('../portal', 308),
    });
  }
}
