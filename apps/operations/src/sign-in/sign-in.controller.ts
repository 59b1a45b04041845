import { createHash } from 'node:crypto';
import { Controller, Get, HttpCode, Query, Req, Res } from '@nestjs/common';
import { Access, type FastifyReply, type FastifyRequest } from '@relay/http';
import { ProblemError } from '@relay/problem';
import { Log } from '@relay/telemetry';
import { z } from 'zod';
import { ConsoleSessions, readSession, sessionCookie } from '../access/console-sessions.adapter.js';
import { isElsewhere } from '../access/operator-guard.js';
import { answerOf, textsOf } from '../http/routes.js';
import type { IdentityProvider } from './identity-provider.adapter.js';
import { SignInRefused } from './sign-in-refused.js';
import { cookieOf, isOverTls, SignIns } from './sign-ins.adapter.js';

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
    const { provider } = this.signIns;
    return { provider: provider ? { name: provider.name, url: `${provider.consoleUrl}/sign-in/start` } : null };
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
    pages: REFUSALS,
    problems: ['not-found'],
  })
  async start(@Query('next') next: unknown, @Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.#answer(request, reply, async (provider) => {
      // A link on a page of another site must not sign a person in.
      if (isElsewhere(request))
        throw new SignInRefused(403, 'A sign-in begins on a page of the console.', 'begun on a page of another site');
      const { url, cookie } = await this.signIns.begin(provider, next);
      return reply.code(303).headers({ 'set-cookie': cookie, location: url }).send();
    });
  }

  @Get('callback')
  @Text('completeSignIn', 'Complete a sign-in at the identity provider', {
    description:
      'The provider sends the browser here. The answer is a page that goes on to the console, since browsers send no `SameSite=Strict` cookie on a redirect that began at another site. An answer counts once, and only in the browser that began the sign-in.',
    answer: {
      ...answerOf('A session was opened.', z.string()),
      mediaType: 'text/html',
      headers: { 'Set-Cookie': 'The session.' },
    },
    pages: REFUSALS,
    problems: ['not-found'],
  })
  async callback(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.#answer(request, reply, async (provider) => {
      void reply.header('set-cookie', cookieOf(provider, '', 0));
      const { searchParams } = new URL(request.url, provider.consoleUrl);
      const browser = { cookie: request.headers.cookie, address: request.ip };
      const { subject, name, role, place } = await this.signIns.complete(provider, searchParams, browser);
      const clientId = `person:${subject}`;
      if (role === undefined) {
        const who = name === '' ? `Subject ${subject}` : `${name} (subject ${subject})`;
        const words = `${who} has no access: nothing in the ID token gives a role.`;
        throw new SignInRefused(403, words, `${clientId} has no role`, true);
      }
      const { generation } = provider;
      const id = await this.sessions.open({ clientId, generation, person: { name, role } });
      const former = readSession(request.headers.cookie);
      if (former !== undefined) await this.sessions.end(former);
      const by = { operator: clientId, requestId: request.id };
      this.log.info('console.entered', 'An operator opened a session of the console', by);
      void reply.header('set-cookie', sessionCookie(id, isOverTls(provider)));
      const links = { [`../#${place ?? '/'}`]: 'Go on to the console' };
      return send(reply, 'You are signed in', `${name} has the role ${role}.`, links, true);
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
        .headers({ location: url ?? '../' })
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
      const { consoleUrl, name } = provider;
      // Without a session at the provider, the person can sign in there as somebody else.
      const end = isKnown ? { [`${consoleUrl}/sign-in/end`]: `Sign out at ${name}` } : {};
      if (status !== 403) void reply.header('retry-after', status === 429 ? '60' : '5');
      const links = { [`${consoleUrl}/`]: 'Back to the console', ...end };
      send(reply.code(status), 'You are not signed in', text, links);
    }
  }
}

const STYLE =
  ':root{color-scheme:light dark;background:canvas}a{color:inherit}body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:15vh auto;padding:0 1rem;overflow-wrap:anywhere}';
const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/**
 * Sends a page.
 * @param links words of links by their addresses
 * @param isQuick whether the browser follows the first link by itself
 */
function send(reply: FastifyReply, title: string, text: string, links: object, isQuick = false): FastifyReply {
  const anchors = Object.entries(links).map(([to, words]) => `<p><a href="${escaped(to)}">${escaped(words)}</a></p>`);
  const refresh = `<meta http-equiv="refresh" content="0; url=${escaped(Object.keys(links)[0] ?? '')}">`;
  const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width">${isQuick ? refresh : ''}<title>${title} – Partner Relay</title><style>${STYLE}</style>`;
  return reply
    .headers({ 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY })
    .header('referrer-policy', 'no-referrer')
    .send(
      `<!doctype html><html lang="en"><head>${head}</head><body><main><h1>${title}</h1><p>${escaped(text)}</p>${anchors.join('')}</main></body></html>`,
    );
}

const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => `&#${String(sign.codePointAt(0))};`);
