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
  holderOf,
  isStillGranted,
  PortalAccess,
  PortalLinkAnswer,
  portalLinkOf,
  PortalLinkRequest,
  PortalLinks,
  portalUrl,
  readBearer,
  RevokedTokens,
  type PortalLink,
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
import { Operation, operationsOf } from '@relay/openapi';
import { Page, type Served } from '@relay/pages';
import { ProblemError } from '@relay/problem';
import { Shards } from '@relay/redis';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { z } from 'zod';
import { Exchange, PartnerAudit } from '../access/partner-routes.js';

const PortalTrade = z
  .strictObject({ code: z.string().max(100).describe('What stands behind `#code=` in a link.') })
  .meta({ id: 'PortalTrade', description: 'The code of a link.' });
type PortalTrade = z.infer<typeof PortalTrade>;

const PortalTokenAnswer = z
  .object({
    token: z.string().describe('For `Authorization: Bearer`, on the operations that name `portal`.'),
    expiresAt: z.iso.datetime(),
    access: PortalAccess,
    webhookIds: z.array(z.guid()).nullable().describe('The only webhooks that are shown; `null` for all.'),
    partnerId: z.string(),
    frames: z.array(z.string()).describe('Origins that may show the portal in a frame.'),
  })
  .meta({ id: 'PortalToken', description: 'A token for the portal.' });
type PortalTokenAnswer = z.infer<typeof PortalTokenAnswer>;

const CODE = 'q1f9YQ3m0Vt7rXc2uE5wPj8bVh6sLd4fNgTzKoM1iRy';

const operations = operationsOf('Portal', {
  createPortalLink: {
    summary: 'Make a link to the portal',
    description:
      'For people at the partner who shall see its webhooks and deliveries without a credential. Your service makes the link when someone asks for it, and sends the browser there. It can be opened once, within `PORTAL_LINK_TTL`, a minute unless the operator says otherwise.',
    body: { isRequired: false, schema: PortalLinkRequest, example: { access: 'write', ttl: 900 } },
    answer: {
      description: 'The link.',
      content: {
        schema: PortalLinkAnswer,
        example: { url: `https://relay.example/portal#code=${CODE}`, expiresAt: '2030-01-01T10:01:00.000Z' },
      },
    },
  },
  tradePortalCode: {
    summary: 'Trade the code of a link for a token',
    description: 'The page of the portal does this. The token ends with the secret that the link was made under.',
    body: { isRequired: true, schema: PortalTrade, example: { code: CODE } },
    answer: { description: 'The token, and what it is good for.', content: { schema: PortalTokenAnswer } },
    problems: ['not-found', 'unavailable'],
  },
  endPortalToken: {
    summary: 'Leave the portal',
    description: 'Ends the token that it is sent with, at every process within seconds.',
    answer: { description: 'The token has ended.' },
  },
  readPortal: {
    summary: 'The portal',
    description: 'The page for people. It needs a link of `POST /portal/links`.',
    answer: { description: 'The page.', mediaType: 'text/html; charset=utf-8', content: { schema: z.string() } },
    problems: ['not-found'],
  },
  readPortalFile: {
    summary: 'A file of the portal',
    path: { name: { schema: z.string(), example: 'main-5YTHK2JN.js' } },
    answer: { description: 'Script, style or image.', mediaType: '*/*', content: { schema: z.string() } },
    problems: ['not-found'],
  },
});

/** Stores portal links, exchanges their codes for tokens, and revokes tokens. */
@Injectable()
class PortalTokens {
  readonly links: PortalLinks;

  constructor(
    { global }: Shards,
    private readonly directory: ClientDirectory,
    private readonly tokens: AccessTokens,
    private readonly revoked: RevokedTokens,
    @Inject(INGRESS_CONFIG) { PORTAL_LINK_TTL }: IngressConfig,
  ) {
    this.links = new PortalLinks(global, randomBytes, PORTAL_LINK_TTL);
  }

  /**
   * Exchanges the code of a link for a token.
   * @throws ProblemError `not-found` if the code is unknown, used or expired, or the secret of the client that made the link
   * has ended; `unavailable`
   */
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
      expiresAt: new Date(Date.now() + ttlS * 1_000).toISOString(),
      access: grant.access,
      webhookIds: grant.webhookIds ?? null,
      partnerId,
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

  /** Revokes a token that a guard has already admitted. */
  async end(text: string): Promise<void> {
    const verification = await this.tokens.verify(text);
    if (verification.kind !== 'valid') return;
    const { token } = verification;
    const { jti, issuedAtS, expiresAtS: endsAtS } = token;
    await this.revoked.revoke({ clientId: holderOf(token), jti, issuedAtS, endsAtS });
  }
}

/** Maximum number of links that one partner may make in a minute, counted over all processes. */
const LINKS_A_MINUTE = 300;

/** Routes that make portal links, exchange their codes for tokens, and revoke portal tokens. */
@Controller('portal')
@Access({ kind: 'bearer', scopes: ['webhooks'] })
class PortalController {
  readonly #quota: SharedQuota;

  constructor(
    { global }: Shards,
    private readonly tokens: PortalTokens,
    private readonly audit: PartnerAudit,
    @Inject(INGRESS_CONFIG) private readonly config: IngressConfig,
  ) {
    this.#quota = new SharedQuota(global, { name: 'portal-links', points: LINKS_A_MINUTE, windowMs: 60_000 });
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
    const code = await this.tokens.links.create(portalLinkOf(partnerId, wanted, callerOf(request)));
    return { url: portalUrl(this.config.PUBLIC_URL, code, wanted.next), expiresAt };
  }

  @Post('tokens')
  @HttpCode(200)
  @Header('pragma', 'no-cache') // RFC 6749 section 5.1
  @Access({ kind: 'public' })
  @TakesBody({ maxBytes: 1_024 })
  @Operation(operations.tradePortalCode)
  async trade(@StrictBody(PortalTrade) body: Body<PortalTrade>): Promise<PortalTokenAnswer> {
    return { ...(await this.tokens.trade(body().code)), frames: this.config.PORTAL_FRAMES };
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

  constructor(@Inject(INGRESS_CONFIG) { PORTAL_FRAMES }: IngressConfig) {
    this.#page = new Page('portal', PORTAL_FRAMES);
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

@Module({ controllers: [PortalController, PortalPageController], providers: [PortalTokens] })
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
