import { createHash } from 'node:crypto';
import { Controller, Get, HttpCode, Query, Req, Res } from '@nestjs/common';
import { Access, type FastifyReply, type FastifyRequest } from '@relay/http';
import { ProblemError } from '@relay/problem';
import { Log } from '@relay/telemetry';
import { z } from 'zod';
import { ConsoleSessions, readSession, sessionCookie } from '../access/console-sessions.adapter.js';
import { isElsewhere } from '../access/operator-guard.js';
import { answerOf, textsOf } from '../http/routes.js';
import { generationOf, type IdentityProvider } from './identity-provider.adapter.js';
import { noSignIn, SignInRefused, SignIns } from './sign-ins.adapter.js';

const SignInWays = z
  .object({
    provider: z
      .object({ name: z.string(), url: z.string().describe('A browser that goes there begins a sign-in.') })
      .nullable()
      .describe('The identity provider; `null` without `OIDC_ISSUER`.'),
  })
  .meta({ id: 'SignInWays', description: 'How people sign in, beside client id and client secret.' });
type SignInWays = z.infer<typeof SignInWays>;

const Text = textsOf('Session');
const page = { mediaType: 'text/html', content: { schema: z.string() } };
const REFUSALS = {
  403: 'The sign-in is refused; the page says why.',
  429: 'Too many sign-ins from this address have failed.',
  503: 'The provider, or Redis, does not answer as it should.',
};

/** Signs people in at an identity provider, and out. Its pages work without scripts. */
@Controller('sign-in')
@Access({ kind: 'public' })
export class SignInController {
  constructor(
    private readonly signIns: SignIns,
    private readonly sessions: ConsoleSessions,
    private readonly log: Log,
  ) {}

  @Get()
  @Text('readSignIn', 'Read how people sign in', { answer: answerOf('The ways.', SignInWays) })
  read(): SignInWays {
    const settings = this.signIns.provider?.settings;
    return { provider: settings ? { name: settings.name, url: `${settings.consoleUrl}/sign-in/start` } : null };
  }

  @Get('start')
  @HttpCode(303)
  @Text('startSignIn', 'Begin a sign-in at the identity provider', {
    description:
      'The way there has state, nonce and PKCE challenge (S256); an encrypted cookie of this browser keeps what belongs to them for ten minutes.',
    query: z.object({
      next: z.string().optional().describe('Where the console opens afterwards, such as `/webhooks`.'),
    }),
    answer: {
      description: 'The browser goes to the provider.',
      headers: { Location: 'At the provider.', 'Set-Cookie': 'The sign-in that was begun.' },
    },
    pages: { 403: REFUSALS[403], 503: REFUSALS[503] },
    problems: ['not-found'],
  })
  async start(@Query('next') next: unknown, @Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.#answer(request, reply, async (provider) => {
      // A link on a page of another site must not sign a person in.
      if (isElsewhere(request))
        throw new SignInRefused(403, 'A sign-in begins on a page of the console.', 'begun on a page of another site');
      const { url, cookie } = await this.signIns.begin(provider, next);
      return reply.code(303).header('set-cookie', cookie).header('location', url).send();
    });
  }

  @Get('callback')
  @Text('completeSignIn', 'Complete a sign-in at the identity provider', {
    description:
      'The provider sends the browser here. The answer is a page that goes on to the console, since browsers send no `SameSite=Strict` cookie on a redirect that began at another site. An answer counts once, and only in the browser that began the sign-in.',
    answer: { description: 'A session was opened.', ...page, headers: { 'Set-Cookie': 'The session.' } },
    pages: REFUSALS,
    problems: ['not-found'],
  })
  async callback(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.#answer(request, reply, async (provider) => {
      const { settings } = provider;
      void reply.header('set-cookie', noSignIn(provider));
      const { searchParams } = new URL(request.url, settings.consoleUrl);
      const browser = { cookie: request.headers.cookie, address: request.ip };
      const { subject, name, role, place } = await this.signIns.complete(provider, searchParams, browser);
      const clientId = `person:${subject}`;
      if (role === undefined) {
        const who = name === '' ? `Subject ${subject}` : `${name} (subject ${subject})`;
        const words = `${who} has no access: no value of the claim ${settings.roleClaim} gives a role.`;
        throw new SignInRefused(403, words, `${clientId} has no role`, true);
      }
      const generation = generationOf(settings);
      const id = await this.sessions.open({ clientId, generation, person: { name, role } });
      const former = readSession(request.headers.cookie);
      if (former !== undefined) await this.sessions.end(former);
      const by = { operator: clientId, requestId: request.id };
      this.log.info('console.entered', 'An operator opened a session of the console', by);
      void reply.header('set-cookie', sessionCookie(id, settings.consoleUrl.startsWith('https:')));
      const links = { [`../#${place ?? '/'}`]: 'Go on to the console' };
      return send(reply, { title: 'You are signed in', links, isQuick: true });
    });
  }

  @Get('end')
  @HttpCode(303)
  @Text('endSignIn', 'Sign out at the identity provider', {
    description:
      'For a browser whose session has ended. Without `end_session_endpoint` of the provider it goes to the console.',
    answer: { description: 'The browser goes on.', headers: { Location: 'At the provider, or the console.' } },
    problems: ['not-found'],
  })
  async end(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.#answer(request, reply, async (provider) => {
      const url = await provider.signOutUrl().catch(() => undefined);
      return reply
        .code(303)
        .header('location', url ?? '../')
        .send();
    });
  }

  /** @throws ProblemError `not-found` if there is no provider */
  async #answer(
    { id: requestId }: FastifyRequest,
    reply: FastifyReply,
    handle: (provider: IdentityProvider) => Promise<FastifyReply>,
  ): Promise<void> {
    const { provider } = this.signIns;
    if (provider === undefined) throw new ProblemError('not-found', 'No identity provider is set: OIDC_ISSUER.');
    try {
      await handle(provider);
    } catch (error) {
      if (!(error instanceof SignInRefused)) throw error;
      const { status, message: text, reason, isKnown } = error;
      this.log.warn('console.refused', 'A sign-in at the identity provider was refused', { reason, requestId });
      const { consoleUrl, name } = provider.settings;
      // Without a session at the provider, the person can sign in there as somebody else.
      const end = isKnown ? { [`${consoleUrl}/sign-in/end`]: `Sign out at ${name}` } : {};
      if (status !== 403) void reply.header('retry-after', status === 429 ? '60' : '5');
      const links = { [`${consoleUrl}/`]: 'Back to the console', ...end };
      send(reply.code(status), { title: 'You are not signed in', text, links });
    }
  }
}

const STYLE =
  ':root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:15vh auto;padding:0 1rem;overflow-wrap:anywhere}';
const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

interface PageText {
  readonly title: string;
  readonly text?: string;
  /** Words of links by their addresses. */
  readonly links: Readonly<Record<string, string>>;
  /** Whether the browser follows the first link by itself. */
  readonly isQuick?: boolean;
}

function send(reply: FastifyReply, { title, text = '', links, isQuick = false }: PageText): FastifyReply {
  const written = Object.entries(links).map(([to, words]) => [escaped(to), escaped(words)] as const);
  const refresh = isQuick ? `<meta http-equiv="refresh" content="0; url=${written[0]?.[0]}">` : '';
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">${refresh}<title>${title} – Partner Relay</title><style>${STYLE}</style></head><body><main><h1>${title}</h1><p>${escaped(text)}</p>${written.map(([to, words]) => `<p><a href="${to}">${words}</a></p>`).join('')}</main></body></html>`;
  return reply
    .headers({ 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY })
    .header('referrer-policy', 'no-referrer')
    .send(html);
}

const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => `&#${String(sign.codePointAt(0))};`);
